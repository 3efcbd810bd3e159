// RUN: not lf-opt %s --lf-build-schedule 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not lf-opt %s --lf-assign-stages="pp=2" --lf-build-schedule="schedule=2f2b" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not lf-opt %s --lf-assign-stages="pp=2" --lf-build-schedule="micro-batches=0" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not lf-opt %s --lf-assign-stages="pp=2" --lf-build-schedule="micro-batches=100000000" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not lf-opt %s --lf-assign-stages="pp=2" --lf-build-schedule="schedule=interleaved micro-batches=2" 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not lf-opt %s --lf-assign-stages="pp=4 layout=E|t|t|t|t|t|t|ttL" --lf-build-schedule="micro-batches=3" 2>&1 | FileCheck %s --check-prefix=GROUP

lf.chain embed @embed layers [@a] counts [8] head @head

// STAGES: error: expected lf.stage ops, got none: run lf-assign-stages first
// NAME: error: expected --pipeline-schedule to be one of "gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", got "2f2b"
// NONE: error: expected micro-batches of at least 1, got 0
// MANY: error: expected a schedule of at most 10000000 actions (passes x ranks x chunks x micro-batches), got 2 x 2 x 1 x 100000000
// CHUNKS: error: "--pipeline-schedule": expected at least 2 chunks on a rank (--vpp) for "interleaved", got 1; with one chunk use "1f1b"
// GROUP: error: "--global-batch-size": expected at least 4 micro-batches (the pipeline size) for the interleaved schedule, got 3
