// assign-stages: expected 1 to 1000000 decoder layers and 0 to 1000000 MTP layers, got 0 and 0
lf.chain embed @embed layers [] counts [] head @head

// -----
// build-schedule: expected a pipeline size (--pp) of at least 1, got 0
lf.stage @s0 pp -5 chunk 0 embed layers [@a] counts [1] first 0

// -----
// build-schedule: expected a pipeline size (--pp) above 1 for the interleaved schedule (1000001 chunks on a rank), got 1
lf.stage @s0 pp 0 chunk 1000000 embed layers [@a] counts [1] first 0 head

// -----
// build-schedule: expected stage 1 on pipeline rank 1
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
// verify-schedule: got F mb 9223372036854775807 chunk 0
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
// verify-schedule: (S1) rank 0: expected F mb 0 chunk 0 to run once, got no such action
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
