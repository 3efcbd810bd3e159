// RUN: lf-opt %s --lf-assign-stages="pp=2 vpp=2" --lf-build-schedule="micro-batches=2" --lf-verify-schedule | FileCheck %s --check-prefix=VPP
// RUN: lf-opt %s --lf-assign-stages="pp=2 vpp=2" --lf-build-schedule="micro-batches=2 overlap-p2p=false" --lf-verify-schedule | FileCheck %s --check-prefix=ATUSE
// RUN: lf-opt %s --lf-assign-stages="pp=2 vpp=2" --lf-build-schedule="micro-batches=6 group-size=3" --lf-verify-schedule | FileCheck %s --check-prefix=GROUP
// RUN: lf-opt %s --lf-assign-stages="pp=2 vpp=2 vee" --lf-build-schedule="schedule=zb-v micro-batches=2" --lf-verify-schedule | FileCheck %s --check-prefix=VEE
// RUN: lf-opt %s --lf-assign-stages="pp=2" --lf-build-schedule="schedule=zb-h1 micro-batches=3" --lf-verify-schedule | FileCheck %s --check-prefix=ZBH1

lf.chain embed @embed layers [@a] counts [4] head @head

// 1F1B with two chunks is interleaved: both micro-batches run through chunk 0, then through chunk 1. Each chunk has slots
// of its own; the first loads ids, the last labels.
// VPP:       lf.stage @stage2 pp 0 chunk 1 layers [@a] counts [1] first 2{{$}}
// VPP:       lf.stage @stage3 pp 1 chunk 1 layers [@a] counts [1] first 3 head
// VPP-LABEL: lf.program @pp0 pp 0 {
// VPP-NEXT:    lf.load_batch @stage0 micro_batch 0 slot 0
// VPP-NEXT:    lf.run "forward" @stage0 micro_batch 0 slot 0
// VPP-NEXT:    lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
// Receives are posted before the run in front of the one that needs them: the message travels while that one computes.
// VPP-NEXT:    lf.post_recv "forward" @stage2 from @stage1 micro_batch 0{{$}}
// VPP-NEXT:    lf.load_batch @stage0 micro_batch 1 slot 1
// VPP-NEXT:    lf.run "forward" @stage0 micro_batch 1 slot 1
// VPP-NEXT:    lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 1
// VPP-NEXT:    lf.recv "forward" @stage2 from @stage1 micro_batch 0 slot 0 posted
// VPP-NEXT:    lf.post_recv "forward" @stage2 from @stage1 micro_batch 1
// VPP-NEXT:    lf.run "forward" @stage2 micro_batch 0 slot 0
// VPP-NEXT:    lf.send "forward" @stage2 to @stage3 micro_batch 0 slot 0
// The first run has none before it.
// VPP-LABEL: lf.program @pp1 pp 1 {
// VPP-NEXT:    lf.post_recv "forward" @stage1 from @stage0 micro_batch 0
// VPP-NEXT:    lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0 posted
// VPP-NEXT:    lf.post_recv "forward" @stage1 from @stage0 micro_batch 1
// VPP:         lf.load_batch @stage3 micro_batch 0 slot 0
// VPP-NEXT:    lf.recv "forward" @stage3 from @stage2 micro_batch 0 slot 0 posted
// VPP-NEXT:    lf.run "forward" @stage3 micro_batch 0 slot 0
// VPP-NEXT:    lf.post_recv "forward" @stage3 from @stage2 micro_batch 1
// VPP-NEXT:    lf.run "backward" @stage3 micro_batch 0 slot 0
// VPP-NEXT:    lf.send "backward" @stage3 to @stage2 micro_batch 0 slot 0

// Without overlap each message is received where it is needed.
// ATUSE-NOT: post
// ATUSE:       lf.program @pp1 pp 1 {
// ATUSE-NEXT:    lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0{{$}}
// ATUSE-NEXT:    lf.run "forward" @stage1 micro_batch 0 slot 0
// ATUSE-NOT: post

// A group of 3 micro-batches on 2 ranks: the last rank returns 3 - 2 + 1 of them before the first asks for any.
// GROUP-LABEL: lf.program @pp0 pp 0 attributes {buffers = 2 : i64}
// GROUP:         lf.run "forward" @stage0 micro_batch 2
// GROUP-NOT:     lf.run "forward" @stage0
// GROUP:         lf.run "forward" @stage2 micro_batch 0

// ZB-V: at the turn both stages are on rank 1, and no message is sent.
// VEE:       lf.stage @stage2 pp 1 chunk 1
// VEE:       lf.stage @stage3 pp 0 chunk 1 {{.*}} head
// VEE-LABEL: lf.program @pp1 pp 1 {
// VEE:         lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0 posted
// VEE-NEXT:    lf.run "forward" @stage1 micro_batch 0 slot 0
// VEE-NEXT:    lf.post_recv "forward" @stage1 from @stage0 micro_batch 1
// VEE-NEXT:    lf.run "forward" @stage2 micro_batch 0 slot 0
// VEE-NEXT:    lf.send "forward" @stage2 to @stage3 micro_batch 0 slot 0
// VEE:         lf.run "backward" @stage2 micro_batch 0 slot 0
// VEE-NEXT:    lf.run "weight" @stage2 micro_batch 0 slot 0
// VEE-NEXT:    lf.run "backward" @stage1 micro_batch 0 slot 0
// VEE-NEXT:    lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
// VEE-NEXT:    lf.post_recv "backward" @stage2 from @stage3 micro_batch 1
// VEE-NEXT:    lf.run "weight" @stage1 micro_batch 0 slot 0

// ZB-H1: the weight pass has no message, and a slot is free again only after it.
// ZBH1-LABEL: lf.program @pp1 pp 1 {
// ZBH1:         lf.run "backward" @stage1 micro_batch 0 slot 0
// ZBH1-NEXT:    lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
// ZBH1-NEXT:    lf.load_batch @stage1 micro_batch 1 slot 1
// ZBH1:         lf.run "backward" @stage1 micro_batch 1 slot 1
// ZBH1-NEXT:    lf.send "backward" @stage1 to @stage0 micro_batch 1 slot 1
// ZBH1-NEXT:    lf.run "weight" @stage1 micro_batch 0 slot 0
// ZBH1-NEXT:    lf.load_batch @stage1 micro_batch 2 slot 0
