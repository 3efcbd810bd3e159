// RUN: lf-opt %s --lf-verify-schedule --split-input-file | FileCheck %s

// Nothing changes in a module that is accepted: one rank and two, GPipe order on the first of them with the buffers that it needs.
// CHECK-LABEL: lf.program @pp0 pp 0 attributes {buffers = 3 : i64}
// CHECK-LABEL: lf.program @pp1 pp 1 {
// CHECK:         lf.optimizer_step
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 attributes {buffers = 3 : i64} {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.load_batch @stage0 micro_batch 1 slot 1
  lf.run "forward" @stage0 micro_batch 1 slot 1
  lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 1
  lf.load_batch @stage0 micro_batch 2 slot 2
  lf.run "forward" @stage0 micro_batch 2 slot 2
  lf.send "forward" @stage0 to @stage1 micro_batch 2 slot 2
  lf.load_batch @stage0 micro_batch 3 slot 3
  lf.run "forward" @stage0 micro_batch 3 slot 3
  lf.send "forward" @stage0 to @stage1 micro_batch 3 slot 3
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 1 slot 1
  lf.run "backward" @stage0 micro_batch 1 slot 1
  lf.recv "backward" @stage0 from @stage1 micro_batch 2 slot 2
  lf.run "backward" @stage0 micro_batch 2 slot 2
  lf.recv "backward" @stage0 from @stage1 micro_batch 3 slot 3
  lf.run "backward" @stage0 micro_batch 3 slot 3
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.load_batch @stage1 micro_batch 1 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 1 slot 0
  lf.run "forward" @stage1 micro_batch 1 slot 0
  lf.run "backward" @stage1 micro_batch 1 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 1 slot 0
  lf.load_batch @stage1 micro_batch 2 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 2 slot 0
  lf.run "forward" @stage1 micro_batch 2 slot 0
  lf.run "backward" @stage1 micro_batch 2 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 2 slot 0
  lf.load_batch @stage1 micro_batch 3 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 3 slot 0
  lf.run "forward" @stage1 micro_batch 3 slot 0
  lf.run "backward" @stage1 micro_batch 3 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 3 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A rank that is first and last needs no message.
// CHECK-LABEL: lf.program @alone pp 0 {
// CHECK-NEXT:    lf.load_batch
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [2] first 0 head
lf.program @alone pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// Posts may stand between the lines of a pass, more than one at a time: they wait for nothing.
// CHECK-LABEL: lf.program @pp1 pp 1 {
// CHECK-NEXT:    lf.post_recv "forward" @stage1 from @stage0 micro_batch 0
// CHECK-NEXT:    lf.post_recv "forward" @stage1 from @stage0 micro_batch 1
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.load_batch @stage0 micro_batch 1 slot 1
  lf.post_recv "backward" @stage0 from @stage1 micro_batch 0
  lf.run "forward" @stage0 micro_batch 1 slot 1
  lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 1
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0 posted
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 1 slot 1
  lf.run "backward" @stage0 micro_batch 1 slot 1
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.post_recv "forward" @stage1 from @stage0 micro_batch 0
  lf.post_recv "forward" @stage1 from @stage0 micro_batch 1
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0 posted
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.load_batch @stage1 micro_batch 1 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 1 slot 0 posted
  lf.run "forward" @stage1 micro_batch 1 slot 0
  lf.run "backward" @stage1 micro_batch 1 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 1 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
