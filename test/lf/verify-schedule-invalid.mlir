// RUN: lf-opt %s --lf-verify-schedule -verify-diagnostics -split-input-file

// Two stages, one on each rank; each case breaks one message.

// Two lines swapped: the run has no receive before it.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  // expected-error @+1 {{expected the receive from stage 0 of micro-batch 0 before this line}}
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A dropped receive.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  // expected-error @+1 {{expected the receive from stage 0 of micro-batch 0 before this line}}
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A dropped send.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  // expected-error @+1 {{expected the send to stage 1 of micro-batch 0 after this line}}
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A receive into another slot than that of the run.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 1
  // expected-error @+1 {{expected the receive from stage 0 of micro-batch 0 before this line}}
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A receive of another micro-batch.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 1 slot 0
  // expected-error @+1 {{expected the receive from stage 0 of micro-batch 0 before this line}}
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A send to nowhere.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  // expected-error @+1 {{expected the send to stage 1 of micro-batch 0 after this line}}
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @nowhere micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A send to itself.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  // expected-error @+1 {{expected the send to stage 1 of micro-batch 0 after this line}}
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage0 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A send of the other pass.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  // expected-error @+1 {{expected the send to stage 1 of micro-batch 0 after this line}}
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "backward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
