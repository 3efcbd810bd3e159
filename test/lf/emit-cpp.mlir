// RUN: cat %S/Inputs/block-functions.mlir %s | lf-opt --lf-lower --lf-emit-cpp | mlir-translate --mlir-to-cpp -o %t.cpp
// RUN: FileCheck %s < %t.cpp
// RUN: c++ -std=c++17 -O1 -Wall -Wextra -Werror -I%S/../../runtime/include -c %t.cpp -o %t.o

// CHECK: #include "lf/runtime.h"
// CHECK-NOT: #include
// CHECK: static const lf_axis axes[] = {
// CHECK-NEXT: {"pp", 2},
// CHECK: static const lf_comm comms[] = {
// CHECK-NEXT: {"tp", 0x8},
// CHECK-NEXT: {"dp", 0x2},
// CHECK-NEXT: {"world", 0xf},
// CHECK: {"embedding", "wte.weight",
// CHECK-NEXT: 2, {64, 8}, {60, 8}, {0x8, 0x0}, 1, 0, 0, 0, 1, LF_INIT_NORMAL, 0.02, 0, 0, 0},
// CHECK: {0, 0, -1, 1, 0, 256, 0}, // 0: embed.embedding
// CHECK: static void block_fwd(lf_rank *r, const int32_t *at, int32_t layer, char *bundle, char *work, void *input, char *output) {
// CHECK: lf_rms_norm(r, "norm", input, w_norm, norm, 4, 8, 1e-05);
// CHECK: lf_wait(r, 1, compute_done);
// CHECK-NEXT: lf_all_gather(r, "w_whole", w, w_whole_parts, 16, LF_F32, 0, 1);
// CHECK: static void stage0_forward(lf_rank *r, const Action &a) {
// CHECK: lf_enter(r, "block.fwd", 0, a.micro_batch);
// CHECK: static const Action program_0[] = {
// CHECK-NEXT: {"begin_step.pp0", begin_step_pp0, -1, 0, {}, {}},
// CHECK: switch (lf_coordinate(r, 0x1)) {
// CHECK: int main(int argc, char **argv) { return lf_main(argc, argv, &program); }

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [2, 2, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.stage @stage0 pp 0 chunk 0 embed layers [@block] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@block] counts [1] first 1 head
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
