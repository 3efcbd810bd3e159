// RUN: lf-opt %s -verify-diagnostics -split-input-file

// C1: a count for each kind of layer, and each at least 1.
// expected-error @+1 {{(C1) expected one count for each run of layers, got 2 runs and 1 counts}}
lf.chain embed @embed layers [@a, @b] counts [3] head @head

// -----

// expected-error @+1 {{(C1) expected layer symbols with positive counts, got @a x 0}}
lf.chain embed @embed layers [@a] counts [0] head @head

// -----

// C2: the depths read the normed output of the last layer.
// expected-error @+1 {{(C2) expected a final norm and 1 to 16 depths with multi-token prediction, got depths 1 and no final norm}}
lf.chain embed @embed layers [@a] counts [2] mtp @mtp depths 1 head @head

// -----

// expected-error @+1 {{(C2) expected a final norm and 1 to 16 depths with multi-token prediction, got depths 0}}
lf.chain embed @embed layers [@a] counts [2] final @final mtp @mtp depths 0 head @head

// -----

// expected-error @+1 {{(C2) expected a final norm and 1 to 16 depths with multi-token prediction, got depths 17}}
lf.chain embed @embed layers [@a] counts [2] final @final mtp @mtp depths 17 head @head

// -----

// A stage has runs as the chain has.
// expected-error @+1 {{(C1) expected one count for each run of layers, got 1 runs and 2 counts}}
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [2, 1] first 0

// -----

// C2: what stands behind the layers is named.
// expected-error @+1 {{(C2) expected symbols of bodies in tail, got "mtp"}}
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [2] first 2 tail [@final, "mtp"] head
