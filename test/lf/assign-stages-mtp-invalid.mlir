// RUN: not lf-opt %s --lf-assign-stages="pp=2 layout=Ett|ttL" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not lf-opt %s --lf-assign-stages="pp=3 layout=Ett|ttm|mL" 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not lf-opt %s --lf-assign-stages="pp=2 layout=Etmm|tttL" 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: not lf-opt %s --lf-assign-stages="pp=2 layout=Ett|ttmm||L" 2>&1 | FileCheck %s --check-prefix=CHUNK

// Two depths: together, behind the last layer, in the last stage of a rank.
lf.chain embed @embed layers [@a] counts [4] final @final mtp @mtp depths 2 head @head

// MISSING: error: --pipeline-model-parallel-layout: expected 2 m, one for each of the model's MTP layers (--mtp-num-layers), got 0; 2 missing
// MISSING: note: the nearest legal layout is "Ett|ttmmL"
// TWO: error: --pipeline-model-parallel-layout, column 9: expected all m in one stage, got m in stage 1 and in stage 2
// TWO: note: the nearest legal layout is "Ett|tt|mmL"
// BEFORE: error: --pipeline-model-parallel-layout, column 6: expected every t before the first m, got t in stage 1 after m in stage 0
// BEFORE: note: the nearest legal layout is "Et|t*3mmL"
// CHUNK: error: --pipeline-model-parallel-layout, column 7: expected m in the last chunk of a rank (chunk 1, stages 2 to 3), got stage 1 (chunk 0)
// CHUNK: note: the nearest legal layout is "Ett|tt||mmL"
