// RUN: lf-opt %s --lf-build-schedule="schedule=zb-v micro-batches=2" -verify-diagnostics -split-input-file

// ZB-V reads the stages along the V; these go round.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1
// expected-error @+1 {{expected stage 2 on pipeline rank 1, chunk 1, where schedule "zb-v" runs it, got rank 0, chunk 1}}
lf.stage @stage2 pp 0 chunk 1 layers [@a] counts [1] first 2
lf.stage @stage3 pp 1 chunk 1 layers [@a] counts [1] first 3 head

// -----

// One chunk on a rank.
// expected-error @+1 {{expected 2 chunks on a rank (--vpp) for --pipeline-schedule zb-v, got 1}}
module {
  lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
  lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
}

// -----

// Weight gradients that are still in the backward.
// expected-error @+1 {{expected functions "@*.wgrad" for schedule "zb-v", got none: run lf-split-backward first}}
module {
  func.func private @a.bwd()
  lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
  lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1
  lf.stage @stage2 pp 1 chunk 1 layers [@a] counts [1] first 2
  lf.stage @stage3 pp 0 chunk 1 layers [@a] counts [1] first 3 head
}

// -----

// The second chunk of rank 1 is missing.
// expected-error @+1 {{expected an lf.stage for each of 2 pipeline ranks x 2 chunks, got 3}}
module {
  lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
  lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1
  lf.stage @stage2 pp 0 chunk 1 layers [@a] counts [1] first 2 head
}
