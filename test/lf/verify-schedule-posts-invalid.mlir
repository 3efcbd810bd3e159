// RUN: lf-opt %s --lf-verify-schedule -verify-diagnostics -split-input-file

// Receives in two parts: each case breaks one pair of post and wait, or one post, of rank 1.

// A wait without a post.
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
// expected-error @+1 {{(S7) rank 1, action 0 (event 0): posted receive for F mb 0 chunk 0 from rank 0: expected its post to be the oldest open one of tag 2, got none}}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0 posted
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A post after its wait.
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
// expected-error @+1 {{(S7) rank 1, action 0 (event 0): posted receive for F mb 0 chunk 0 from rank 0: expected its post to be the oldest open one of tag 2, got none}}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0 posted
  lf.post_recv "forward" @stage1 from @stage0 micro_batch 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// Posted twice.
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
// expected-error @+1 {{(S7) rank 1, action 0 (event 1): post of the receive for F mb 0 chunk 0 from rank 0: expected it to be waited for, got the end of the program}}
lf.program @pp1 pp 1 {
  lf.post_recv "forward" @stage1 from @stage0 micro_batch 0
  lf.post_recv "forward" @stage1 from @stage0 micro_batch 0
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0 posted
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// Posted, then received in one part.
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
// expected-error @+1 {{(S7) rank 1, action 0 (event 1): receive for F mb 0 chunk 0 from rank 0: expected no posted receive of tag 2 to be open, got that of mb 0 (event 0)}}
lf.program @pp1 pp 1 {
  lf.post_recv "forward" @stage1 from @stage0 micro_batch 0
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// Posted for another micro-batch.
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
// expected-error @+1 {{(S7) rank 1, action 0 (event 1): posted receive for F mb 0 chunk 0 from rank 0: expected its post to be the oldest open one of tag 2, got that of mb 1 (event 0)}}
lf.program @pp1 pp 1 {
  lf.post_recv "forward" @stage1 from @stage0 micro_batch 1
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0 posted
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A post of a message that does not exist: the last stage's cotangent.
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
  // expected-error @+1 {{expected a message from the stage after stage 1, on another rank, got @stage0}}
  lf.post_recv "backward" @stage1 from @stage0 micro_batch 0
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A post for another rank's stage.
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
  // expected-error @+1 {{expected a stage of pipeline rank 1, got @stage0}}
  lf.post_recv "backward" @stage0 from @stage1 micro_batch 0
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----

// A pass that takes no message.
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
  // expected-error @+1 {{expected pass "forward" or "backward", got "weight"}}
  lf.post_recv "weight" @stage1 from @stage0 micro_batch 0
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
