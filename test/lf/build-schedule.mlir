// RUN: lf-opt %s --lf-assign-stages="pp=2" --lf-build-schedule="micro-batches=3" --lf-verify-schedule | FileCheck %s --check-prefix=PP2
// RUN: lf-opt %s --lf-assign-stages="pp=1" --lf-build-schedule="micro-batches=2" --lf-verify-schedule | FileCheck %s --check-prefix=PP1
// RUN: lf-opt %s --lf-assign-stages="pp=2" --lf-build-schedule="schedule=gpipe micro-batches=2" --lf-verify-schedule | FileCheck %s --check-prefix=GPIPE
// RUN: lf-opt %s --lf-assign-stages="pp=4" --lf-build-schedule="micro-batches=8" --lf-verify-schedule | FileCheck %s --check-prefix=PP4
// RUN: lf-opt %s --lf-assign-stages="pp=4 layout=E|t|t|t|t|t|t|ttL" --lf-build-schedule="micro-batches=4" --lf-verify-schedule | FileCheck %s --check-prefix=CHUNKS

lf.chain embed @embed layers [@a] counts [8] head @head

// 1F1B: a rank runs ahead by its distance from the end. The first stage loads ids, the last labels; each run has its
// receive before and its send after; a slot is used again as soon as its backward has run.
// PP2-LABEL: lf.program @pp0 pp 0 {
// PP2-NEXT:    lf.load_batch @stage0 micro_batch 0 slot 0
// PP2-NEXT:    lf.run "forward" @stage0 micro_batch 0 slot 0
// PP2-NEXT:    lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
// PP2-NEXT:    lf.load_batch @stage0 micro_batch 1 slot 1
// PP2-NEXT:    lf.run "forward" @stage0 micro_batch 1 slot 1
// PP2-NEXT:    lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 1
// PP2-NEXT:    lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
// PP2-NEXT:    lf.run "backward" @stage0 micro_batch 0 slot 0
// PP2-NEXT:    lf.load_batch @stage0 micro_batch 2 slot 0
// PP2-NEXT:    lf.run "forward" @stage0 micro_batch 2 slot 0
// PP2-NEXT:    lf.send "forward" @stage0 to @stage1 micro_batch 2 slot 0
// PP2-NEXT:    lf.recv "backward" @stage0 from @stage1 micro_batch 1 slot 1
// PP2-NEXT:    lf.run "backward" @stage0 micro_batch 1 slot 1
// PP2-NEXT:    lf.recv "backward" @stage0 from @stage1 micro_batch 2 slot 0
// PP2-NEXT:    lf.run "backward" @stage0 micro_batch 2 slot 0
// PP2-NEXT:    lf.sync_grads
// PP2-NEXT:    lf.optimizer_step "adamw"
// PP2-NEXT:  }
// PP2-LABEL: lf.program @pp1 pp 1 {
// PP2-NEXT:    lf.load_batch @stage1 micro_batch 0 slot 0
// PP2-NEXT:    lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
// PP2-NEXT:    lf.run "forward" @stage1 micro_batch 0 slot 0
// PP2-NEXT:    lf.run "backward" @stage1 micro_batch 0 slot 0
// PP2-NEXT:    lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
// PP2-NOT:     slot 1

// One rank sends nothing.
// PP1-NOT:   lf.{{send|recv}}
// PP1:       lf.program @pp0 pp 0 {
// PP1-NEXT:    lf.load_batch @stage0 micro_batch 0 slot 0
// PP1-NEXT:    lf.run "forward" @stage0 micro_batch 0 slot 0
// PP1-NEXT:    lf.run "backward" @stage0 micro_batch 0 slot 0
// PP1-NEXT:    lf.load_batch @stage0 micro_batch 1 slot 0
// PP1-NEXT:    lf.run "forward" @stage0 micro_batch 1 slot 0
// PP1-NEXT:    lf.run "backward" @stage0 micro_batch 1 slot 0
// PP1-NEXT:    lf.sync_grads
// PP1-NEXT:    lf.optimizer_step "adamw"
// PP1-NOT:   lf.{{send|recv}}

// GPipe: every forward, then every backward; so a slot for each micro-batch, on the last rank too.
// GPIPE-LABEL: lf.program @pp1 pp 1
// GPIPE:         lf.run "forward" @stage1 micro_batch 0 slot 0
// GPIPE-NOT:     "backward"
// GPIPE:         lf.run "forward" @stage1 micro_batch 1 slot 1
// GPIPE-NEXT:    lf.run "backward" @stage1 micro_batch 0 slot 0

// A stage in the middle loads no batch, and sends both ways. Rank 1 of 4 never holds more than 3 bundles.
// PP4-LABEL: lf.program @pp1 pp 1
// PP4-NOT:     {{lf.load_batch|slot 3}}
// PP4:         lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
// PP4-NEXT:    lf.run "forward" @stage1 micro_batch 0 slot 0
// PP4-NEXT:    lf.send "forward" @stage1 to @stage2 micro_batch 0 slot 0
// PP4-NOT:     {{lf.load_batch|slot 3}}
// PP4:         lf.recv "backward" @stage1 from @stage2 micro_batch 7 slot
// PP4-NEXT:    lf.run "backward" @stage1 micro_batch 7 slot
// PP4-NEXT:    lf.send "backward" @stage1 to @stage0 micro_batch 7 slot
// PP4-NEXT:    lf.sync_grads
// PP4-LABEL: lf.program @pp2 pp 2

// Two chunks on a rank: 1F1B is interleaved. Each chunk has slots of its own.
// CHUNKS-LABEL: lf.program @pp0 pp 0
// CHUNKS:         lf.send "forward" @stage0 to @stage1 micro_batch 3 slot 3
// CHUNKS-NEXT:    lf.recv "forward" @stage4 from @stage3 micro_batch 0 slot 0 posted
// CHUNKS-NEXT:    lf.post_recv "forward" @stage4 from @stage3 micro_batch 1
// CHUNKS-NEXT:    lf.run "forward" @stage4 micro_batch 0 slot 0
// CHUNKS-NEXT:    lf.send "forward" @stage4 to @stage5 micro_batch 0 slot 0
// CHUNKS:         lf.run "backward" @stage4 micro_batch 3 slot 3
// CHUNKS-NEXT:    lf.send "backward" @stage4 to @stage3 micro_batch 3 slot 3
// CHUNKS-NEXT:    lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0 posted
// CHUNKS-LABEL: lf.program @pp3 pp 3
// CHUNKS:         lf.load_batch @stage7 micro_batch 0 slot 0
// CHUNKS-NEXT:    lf.recv "forward" @stage7 from @stage6 micro_batch 0 slot 0
