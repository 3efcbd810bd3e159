// RUN: lf-opt %s -verify-diagnostics -split-input-file

// What a program does to a receive between its halves; the table of messages.

// The halves of a receive belong to actions: the place is known to the program, not to a body.
lfrt.func "body" @body "" names ["output"] {
^bb0(%y: !lfrt.buffer<f32 x 64>):
  // expected-error @+1 {{(C1) expected the "output" of an action, got another buffer}}
  lfrt.post_recv "x" %y from 0 tag 2 : !lfrt.buffer<f32 x 64>
}

// -----

// A wait for something that is no message's place.
lfrt.func "action" @slot "" names [] {
  %0 = lfrt.slot "a" in "workspace" at 0 : !lfrt.buffer<f32 x 64>
  // expected-error @+1 {{(C1) expected the "input" of an action, got another buffer}}
  lfrt.wait_recv "x" %0 from 0 tag 2 : !lfrt.buffer<f32 x 64>
}

// -----

// Never waited for.
lfrt.func "action" @post "" names ["output"] {
^bb0(%y: !lfrt.buffer<f32 x 64>):
  lfrt.post_recv "x" %y from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.program @pp1 pp 1 {
  // expected-error @+1 {{(C2) expected a row that waits for this receive, got the end of the program}}
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 0> {live = 0 : i64}
}

// -----

// Never posted.
lfrt.func "action" @wait "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  lfrt.wait_recv "x" %x from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.program @pp1 pp 1 {
  // expected-error @+1 {{(C2) expected a row before this one that posts the receive from pipeline rank 0, tag 2, got none}}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 0> {live = 0 : i64}
}

// -----

// Waited for twice.
lfrt.func "action" @post "" names ["output"] {
^bb0(%y: !lfrt.buffer<f32 x 64>):
  lfrt.post_recv "x" %y from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @wait "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  lfrt.wait_recv "x" %x from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.program @pp1 pp 1 {
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 0> {live = 0 : i64}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 0> {live = 0 : i64}
  // expected-error @+1 {{(C2) expected a row before this one that posts the receive from pipeline rank 0, tag 2, got none}}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 0> {live = 0 : i64}
}

// -----

// Waited for in another place.
lfrt.func "action" @post "" names ["output"] {
^bb0(%y: !lfrt.buffer<f32 x 64>):
  lfrt.post_recv "x" %y from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @wait "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  lfrt.wait_recv "x" %x from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.program @pp1 pp 1 {
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 0> {live = 0 : i64}
  // expected-error @+1 {{(C2) expected the input where the message was posted, #lfrt.spot<"workspace" at 0> of 256 bytes, got another place}}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 256> {live = 0 : i64}
}

// -----

// Read in between, at the last byte.
lfrt.func "action" @post "" names ["output"] {
^bb0(%y: !lfrt.buffer<f32 x 64>):
  lfrt.post_recv "x" %y from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @wait "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  lfrt.wait_recv "x" %x from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @work "" names ["input", "output"] {
^bb0(%x: !lfrt.buffer<f32 x 64>, %y: !lfrt.buffer<f32 x 64>):
  lfrt.launch "copy" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%y : !lfrt.buffer<f32 x 64>) args [64]
}
lfrt.program @pp1 pp 1 {
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 256> {live = 0 : i64}
  // expected-error @+1 {{(C2) expected no input in the place of a receive that is posted, got #lfrt.spot<"workspace" at 448>, where @post of micro-batch 0 receives}}
  lfrt.run @work micro_batch 0 bundle 0 input <"workspace" at 448> output <"workspace" at 1024> {live = 0 : i64}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 256> {live = 0 : i64}
}

// -----

// Written in between.
lfrt.func "action" @post "" names ["output"] {
^bb0(%y: !lfrt.buffer<f32 x 64>):
  lfrt.post_recv "x" %y from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @wait "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  lfrt.wait_recv "x" %x from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @work "" names ["input", "output"] {
^bb0(%x: !lfrt.buffer<f32 x 64>, %y: !lfrt.buffer<f32 x 64>):
  lfrt.launch "copy" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%y : !lfrt.buffer<f32 x 64>) args [64]
}
lfrt.program @pp1 pp 1 {
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 256> {live = 0 : i64}
  // expected-error @+1 {{(C2) expected no output in the place of a receive that is posted, got #lfrt.spot<"workspace" at 64>, where @post of micro-batch 0 receives}}
  lfrt.run @work micro_batch 0 bundle 0 input <"workspace" at 1024> output <"workspace" at 64> {live = 0 : i64}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 256> {live = 0 : i64}
}

// -----

// A second post into the same place.
lfrt.func "action" @post "" names ["output"] {
^bb0(%y: !lfrt.buffer<f32 x 64>):
  lfrt.post_recv "x" %y from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @wait "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  lfrt.wait_recv "x" %x from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.program @pp1 pp 1 {
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 0> {live = 0 : i64}
  // expected-error @+1 {{(C2) expected no output in the place of a receive that is posted, got #lfrt.spot<"workspace" at 0>, where @post of micro-batch 0 receives}}
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 0> {live = 0 : i64}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 0> {live = 0 : i64}
}

// -----

// A message from a rank to itself.
// expected-error @+1 {{(C1) expected two different pipeline ranks and a tag of 0 or more, got ranks 1 and 1 and tag 2}}
lfrt.message 1 to 1 tag 2 : !lfrt.buffer<f32 x 64>
