// RUN: lf-opt %s | lf-opt | FileCheck %s

lf.mesh axes ["dp", "tp"] sizes [2, 4] names {dp = ["dp"], tp = ["tp"]}

// CHECK-LABEL: @collectives
func.func @collectives(%x: tensor<8x4xf32>, %p: tensor<8xi32>) {
  // CHECK: lf.all_gather %{{.*}} dim 0 over ["tp"] : tensor<8x4xf32> -> tensor<32x4xf32>
  %0 = lf.all_gather %x dim 0 over ["tp"] : tensor<8x4xf32> -> tensor<32x4xf32>
  // CHECK: lf.reduce_scatter "sum" %{{.*}} dim 1 over ["dp"] : tensor<8x4xf32> -> tensor<8x2xf32>
  %1 = lf.reduce_scatter "sum" %x dim 1 over ["dp"] : tensor<8x4xf32> -> tensor<8x2xf32>
  // CHECK: lf.all_reduce "max" %{{.*}} over ["dp", "tp"] {reason = "why"} : tensor<8x4xf32> -> tensor<8x4xf32>
  %2 = lf.all_reduce "max" %x over ["dp", "tp"] {reason = "why"} : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: lf.all_to_all %{{.*}} from 0 to 1 over ["tp"] : tensor<8x4xf32> -> tensor<32x1xf32>
  %3 = lf.all_to_all %x from 0 to 1 over ["tp"] : tensor<8x4xf32> -> tensor<32x1xf32>
  // CHECK: lf.slice %{{.*}} dim 0 over ["tp"] : tensor<8xi32> -> tensor<2xi32>
  %4 = lf.slice %p dim 0 over ["tp"] : tensor<8xi32> -> tensor<2xi32>
  // CHECK: lf.mask %{{.*}} over ["tp"] : tensor<8x4xf32> -> tensor<8x4xf32>
  %5 = lf.mask %x over ["tp"] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}
