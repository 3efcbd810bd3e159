// RUN: lf-opt %s -verify-diagnostics -split-input-file

// C3: the gathered dim grows by the size of the group.
lf.mesh axes ["dp", "tp"] sizes [2, 4] names {}
func.func @gather(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{(C3) expected result dim 0 to be 32 (8 x group of 4), got 16}}
  %0 = lf.all_gather %x dim 0 over ["tp"] : tensor<8x4xf32> -> tensor<16x4xf32>
  return
}

// -----

lf.mesh axes ["dp", "tp"] sizes [2, 4] names {}
func.func @scatter(%x: tensor<6x4xf32>) {
  // expected-error @+1 {{(C3) expected result dim 0 to be 1/4 of 6, got 1}}
  %0 = lf.reduce_scatter "sum" %x dim 0 over ["tp"] : tensor<6x4xf32> -> tensor<1x4xf32>
  return
}

// -----

// C1: axes stand in the order of the mesh.
// expected-note @+1 {{the mesh}}
lf.mesh axes ["dp", "tp"] sizes [2, 4] names {}
func.func @order(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{(C1) expected axes of the mesh, once and in its order, got "dp"}}
  %0 = lf.all_reduce "sum" %x over ["tp", "dp"] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

// expected-note @+1 {{the mesh}}
lf.mesh axes ["dp"] sizes [2] names {}
func.func @unknown(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{(C1) expected axes of the mesh, once and in its order, got "ep"}}
  %0 = lf.mask %x over ["ep"] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @no_mesh(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{(C1) expected an lf.mesh in the module, got none}}
  %0 = lf.slice %x dim 0 over ["tp"] : tensor<8x4xf32> -> tensor<2x4xf32>
  return
}

// -----

lf.mesh axes ["tp"] sizes [4] names {}
func.func @dim(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{(C3) expected a dim between 0 and 1, got 5}}
  %0 = lf.all_gather %x dim 5 over ["tp"] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

lf.mesh axes ["tp"] sizes [4] names {}
func.func @same_dim(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{(C3) expected two different dims, got 1 twice}}
  %0 = lf.all_to_all %x from 1 to 1 over ["tp"] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

lf.mesh axes ["tp"] sizes [4] names {}
func.func @reduction(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{"sum" or "max"}}
  %0 = lf.all_reduce "min" %x over ["tp"] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

// expected-error @+1 {{(C1) expected distinct axes, got "tp" twice}}
lf.mesh axes ["tp", "tp"] sizes [4, 2] names {}

// -----

// expected-error @+1 {{(C1) expected a positive size of axis "tp", got 0}}
lf.mesh axes ["tp"] sizes [0] names {}

// -----

// expected-error @+1 {{(C2) expected "ep" to list axes of the mesh in its order, got "dp"}}
lf.mesh axes ["dp", "tp"] sizes [2, 2] names {ep = ["tp", "dp"]}
