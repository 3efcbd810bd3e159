// RUN: lf-opt %s --lf-verify-schedule -verify-diagnostics -split-input-file

// Two stages, one on each rank; each case breaks the order of one program.

// No sync_grads.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
// expected-error @+1 {{expected a program to end in lf.sync_grads and lf.optimizer_step, got none}}
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
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

// No optimizer step.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
// expected-error @+1 {{expected a program to end in lf.sync_grads and lf.optimizer_step, got none}}
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
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

// A pass after the gradients were synchronised.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.sync_grads
  // expected-error @+1 {{expected lf.optimizer_step after lf.sync_grads, got "lf.recv"}}
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
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

// A run of another rank's stage.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  // expected-error @+1 {{expected a stage of pipeline rank 0, got @stage1}}
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
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

// A run of a stage that there is not.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  // expected-error @+1 {{expected a stage of pipeline rank 0, got @stage7}}
  lf.run "forward" @stage7 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
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

// A pass is forward or backward.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  // expected-error @+1 {{expected pass "forward", "backward" or "weight", got "sideways"}}
  lf.run "sideways" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
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

// (S1) a micro-batch that one rank leaves out.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.load_batch @stage0 micro_batch 1 slot 0
  lf.run "forward" @stage0 micro_batch 1 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 1 slot 0
  lf.run "backward" @stage0 micro_batch 1 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
// expected-error @+2 {{(S1) rank 1: expected B mb 1 chunk 0 to run once, got no such action}}
// expected-error @+1 {{(S1) rank 1: expected F mb 1 chunk 0 to run once, got no such action}}
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

// (S2) a backward before its forward.
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
  // expected-error @+1 {{expected the bundle of micro-batch 0 in slot 0, got nothing}}
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// (S3) micro-batches of one pass ascend; (S5) and the message that arrives is the other one.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.load_batch @stage0 micro_batch 1 slot 1
  lf.run "forward" @stage0 micro_batch 1 slot 1
  lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 1
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 1 slot 1
  lf.run "backward" @stage0 micro_batch 1 slot 1
  lf.sync_grads
  lf.optimizer_step "adamw"
}
// expected-error @+3 {{(S3) rank 1, action 2: expected micro-batches of one pass and chunk to ascend, got F mb 0 chunk 0 after mb 1}}
// expected-error @+2 {{(S3) rank 1, action 3: expected micro-batches of one pass and chunk to ascend, got B mb 0 chunk 0 after mb 1}}
// expected-error @+1 {{(S5) rank 1, action 0 (event 0): receive for F mb 1 chunk 0 from rank 0: expected the message of mb 1, got mb 0}}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 1 slot 1
  lf.recv "forward" @stage1 from @stage0 micro_batch 1 slot 1
  lf.run "forward" @stage1 micro_batch 1 slot 1
  lf.run "backward" @stage1 micro_batch 1 slot 1
  lf.send "backward" @stage1 to @stage0 micro_batch 1 slot 1
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// (S6) with one buffer a channel rank 0 waits to send its fourth forward, rank 1 to send its second backward.
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
// expected-error @+1 {{(S6) rank 0, action 3 (event 7): cyclic wait (buffers a channel: 1)}}
lf.program @pp0 pp 0 {
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
