// assign-stages: expected 1 to 1000000 decoder layers and 0 to 1000000 MTP layers, got 0 and 0
lf.chain embed @embed layers [] counts [] head @head

// -----
// build-schedule: expected a pipeline size (--pp) of at least 1, got 0
lf.stage @s0 pp -5 chunk 0 embed layers [@a] counts [1] first 0

// -----
// build-schedule: expected an lf.stage for each of 1 pipeline ranks x 1000001 chunks, got 1
lf.stage @s0 pp 0 chunk 1000000 embed layers [@a] counts [1] first 0 head

// -----
// build-schedule: expected an lf.stage for each of 6 pipeline ranks x 1 chunks, got 2
lf.stage @s0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @s1 pp 5 chunk 0 layers [@a] counts [1] first 1 head

// -----
// build-schedule: expected stage 0 on pipeline rank 0
lf.stage @s0 pp 1 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @s1 pp 0 chunk 0 layers [@a] counts [1] first 1 head

// -----
// verify-schedule: got rank 0, chunk 9223372036854775807
lf.stage @s0 pp 0 chunk 9223372036854775807 embed layers [@a] counts [1] first 0 head
lf.program @pp0 pp 0 {
  lf.load_batch @s0 micro_batch 0 slot 0
  lf.run "forward" @s0 micro_batch 0 slot 0
  lf.run "backward" @s0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// verify-schedule: expected a micro-batch from 0 to 1048575, got 9223372036854775807
lf.stage @s0 pp 0 chunk 0 embed layers [@a] counts [1] first 0 head
lf.program @pp0 pp 0 {
  lf.load_batch @s0 micro_batch 9223372036854775807 slot 0
  lf.run "forward" @s0 micro_batch 9223372036854775807 slot 0
  lf.run "backward" @s0 micro_batch 9223372036854775807 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// verify-schedule: expected stages for 1 programs
lf.program @pp0 pp 0 {
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// verify-schedule: got rank 7
lf.stage @s0 pp 7 chunk 0 embed layers [@a] counts [1] first 0 head
lf.program @pp7 pp 7 {
  lf.load_batch @s0 micro_batch 0 slot 0
  lf.run "forward" @s0 micro_batch 0 slot 0
  lf.run "backward" @s0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// verify-schedule: expected lf.load_batch, lf.recv or lf.run of a pass here, got "lf.fill"
lf.stage @s0 pp 0 chunk 0 embed layers [@a] counts [1] first 0 head
lf.program @pp0 pp 0 {
  lf.fill {value = 0.0 : f64} : () -> tensor<f32>
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// verify-schedule: expected
lf.program @pp0 pp 0 {
}

// -----
// parse: 'lf.chain' op (C1) expected at most 1000000 layers, got more
lf.chain embed @embed layers [@a] counts [1000000000000] head @head

// -----
// parse: 'lf.chain' op (C1) expected at most 1000000 layers, got more
lf.chain embed @embed layers [@a, @b] counts [9223372036854775807, 9223372036854775807] head @head

// -----
// verify-schedule: expected a micro-batch from 0 to 1048575, got 1000000000000000
lf.stage @s0 pp 0 chunk 0 embed layers [@a] counts [1] first 0 head
lf.program @pp0 pp 0 {
  lf.load_batch @s0 micro_batch 1000000000000000 slot 0
  lf.run "forward" @s0 micro_batch 1000000000000000 slot 0
  lf.run "backward" @s0 micro_batch 1000000000000000 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// parse: 'lf.stage' op (C1) expected one count for each run of layers, got 2 runs and 1 counts
lf.stage @s0 pp 0 chunk 0 embed layers [@a, @b] counts [1] first 0 head

// -----
// assign-stages: expected one lf.chain in a module, got a second
lf.chain embed @embed layers [@a] counts [3] head @head
lf.chain embed @embed layers [@a] counts [4] head @head

// -----
// verify-schedule: expected one lf.load_batch of micro-batch 0 in slot 0 before this pass, got another
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 3 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
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
// verify-schedule: expected one lf.load_batch of micro-batch 0 in slot 0 before this pass, got none
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.run "forward" @stage0 micro_batch 0 slot 0
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
// verify-schedule: expected the bundle of micro-batch 0 in slot 1, got nothing
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
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 1
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 1
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// verify-schedule: expected the send to stage 1 of micro-batch 0 after this line
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 9
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
// verify-schedule: expected slot 0 to be free, got the bundle of micro-batch 0 in it
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.load_batch @stage0 micro_batch 1 slot 0
  lf.run "forward" @stage0 micro_batch 1 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 1 slot 0
  lf.run "backward" @stage0 micro_batch 1 slot 0
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
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// verify-schedule: expected no receive of micro-batch 0 before this line
lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@a] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.recv "forward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
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
// verify-schedule: expected no send of micro-batch 0 after this line
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
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.send "forward" @stage1 to @nowhere micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}

// -----
// verify-schedule: expected nothing after lf.optimizer_step, got "lf.optimizer_step"
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
