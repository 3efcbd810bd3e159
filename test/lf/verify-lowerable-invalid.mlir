// RUN: lf-opt %s --lf-verify-lowerable -verify-diagnostics -split-input-file
// RUN: lf-opt %s --lf-lower-to-runtime -verify-diagnostics -split-input-file

// A batched product is no single GEMM.
lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [@e] counts [1] head @e
func.func @e.fwd(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>) attributes {lf.outputs = 0 : i64} {
  // expected-error @+1 {{expected a product that is one GEMM, got "bsh,bht->bst" on 'tensor<2x3x4xf32>' and 'tensor<2x4x5xf32>': factor "b" is in both operands and the result (a batched product)}}
  %0 = lf.matmul "bsh,bht->bst" %x, %y : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}
func.func @e.bwd() attributes {lf.cotangents = 0 : i64} {
  return
}

// -----

// A parameter without a declaration has no place.
lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [@e] counts [1] head @e
func.func @e.fwd(%ids: tensor<4x2xi32> {lf.input = "ids"}) attributes {lf.outputs = 0 : i64} {
  // expected-error @+1 {{expected a parameter that is declared, got "e.w"}}
  %0 = lf.param "w" : tensor<4xf32>
  return
}
func.func @e.bwd() attributes {lf.cotangents = 0 : i64} {
  return
}

// -----

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.declare "e" "w" : tensor<8xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 8>, rows = 0 : i64, hf_col = 0 : i64, hf_cols = 0 : i64, init = "ones", std = 0.0 : f64, layout = #lf.layout<[{tp}]>} // expected-note {{declared here}}
lf.chain embed @e layers [@e] counts [1] head @e
func.func @e.fwd() attributes {lf.outputs = 0 : i64} {
  // expected-error @+1 {{expected the local shape of "e.w", 'tensor<4xf32>', got 'tensor<8xf32>'}}
  %0 = lf.param "w" : tensor<8xf32>
  return
}
func.func @e.bwd() attributes {lf.cotangents = 0 : i64} {
  return
}

// -----

// What is saved is taken, in order.
lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [@e] counts [1] head @e
func.func @e.fwd(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {lf.outputs = 1 : i64} {
  return %x, %x : tensor<8xf32>, tensor<8xf32>
}
// expected-error @+1 {{expected to take what @e.fwd saves, 1 values of the same types in order, got 0}}
func.func @e.bwd(%dy: tensor<8xf32>) attributes {lf.cotangents = 1 : i64} {
  return
}

// -----

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [@e] counts [1] head @e
// expected-error @+1 {{expected ids and labels of one shape [S/cp, B], got 'tensor<8xi32>'}}
func.func @e.fwd(%ids: tensor<8xi32> {lf.input = "ids"}) attributes {lf.outputs = 0 : i64} {
  return
}
func.func @e.bwd() attributes {lf.cotangents = 0 : i64} {
  return
}

// -----

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [] counts [] head @h
lf.stage @stage0 pp 0 chunk 0 embed layers [] counts [] first 0
// expected-error @+1 {{expected the embedding on the first stage and the head on the last, got stage 1 of 2}}
lf.stage @stage1 pp 0 chunk 1 layers [] counts [] first 0
func.func @e.fwd() -> tensor<8xf32> attributes {lf.outputs = 1 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @e.bwd(%dx: tensor<8xf32>) attributes {lf.cotangents = 1 : i64} {
  return
}
func.func @h.fwd(%x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) attributes {lf.outputs = 2 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<f32>
  return %0, %0 : tensor<f32>, tensor<f32>
}
func.func @h.bwd() -> tensor<8xf32> attributes {lf.cotangents = 0 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [] counts [] head @h
// expected-error @+1 {{expected a program for pipeline rank 0, got none; run lf-build-schedule first}}
lf.stage @stage0 pp 0 chunk 0 embed layers [] counts [] first 0 head
func.func @e.fwd() -> tensor<8xf32> attributes {lf.outputs = 1 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @e.bwd(%dx: tensor<8xf32>) attributes {lf.cotangents = 1 : i64} {
  return
}
func.func @h.fwd(%x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) attributes {lf.outputs = 2 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<f32>
  return %0, %0 : tensor<f32>, tensor<f32>
}
func.func @h.bwd() -> tensor<8xf32> attributes {lf.cotangents = 0 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A layer of the stage is of no kind of the chain.
lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [] counts [] head @h
// expected-error @+1 {{expected layers of the chain's kinds, got @stage0}}
lf.stage @stage0 pp 0 chunk 0 embed layers [@stage0] counts [1] first 0 head
func.func @e.fwd() -> tensor<8xf32> attributes {lf.outputs = 1 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @e.bwd(%dx: tensor<8xf32>) attributes {lf.cotangents = 1 : i64} {
  return
}
func.func @h.fwd(%x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) attributes {lf.outputs = 2 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<f32>
  return %0, %0 : tensor<f32>, tensor<f32>
}
func.func @h.bwd() -> tensor<8xf32> attributes {lf.cotangents = 0 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Parameters that are stored in flat shards need their gathers first.
lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
// expected-error @+1 {{expected a parameter that is stored whole, got flat axes ["tp"]}}
lf.declare "e" "w" : tensor<8xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 8>, rows = 0 : i64, hf_col = 0 : i64, hf_cols = 0 : i64, init = "ones", std = 0.0 : f64, layout = #lf.layout<[{}], flat {tp}>}
lf.chain embed @e layers [@e] counts [1] head @e

// -----

// Integers are cut where the cut is one run of memory.
lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [@e] counts [1] head @e
func.func @e.fwd(%ids: tensor<4x2xi32> {lf.input = "ids"}) attributes {lf.outputs = 0 : i64} {
  // expected-error @+1 {{expected integers to be sliced along their outermost dim, got dim 1 of 'tensor<4x2xi32>'}}
  %0 = "lf.slice"(%ids) <{dim = 1 : i64, axes = ["tp"]}> : (tensor<4x2xi32>) -> tensor<4x1xi32>
  return
}
func.func @e.bwd() attributes {lf.cotangents = 0 : i64} {
  return
}

// -----

// Every boundary has the type of the first one.
lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [] counts [] head @h
func.func @e.fwd() -> tensor<8xf32> attributes {lf.outputs = 1 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @e.bwd(%dx: tensor<8xf32>) attributes {lf.cotangents = 1 : i64} {
  return
}
func.func @h.fwd(%x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) attributes {lf.outputs = 2 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<f32>
  return %0, %0 : tensor<f32>, tensor<f32>
}
// expected-error @+1 {{expected 1 results of type 'tensor<8xf32>', got ('tensor<4xf32>')}}
func.func @h.bwd() -> tensor<4xf32> attributes {lf.cotangents = 0 : i64} {
  %0 = lf.fill {value = 0.0 : f64} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [] counts [] head @h
// expected-error @+1 {{expected "lf.outputs" between 0 and 0, got 3}}
func.func @e.fwd() attributes {lf.outputs = 3 : i64} {
  return
}
func.func @e.bwd() attributes {lf.cotangents = 0 : i64} {
  return
}

// -----

// Without lf-mixed-precision a bfloat16 model has statistics that no kernel writes.
lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.chain embed @e layers [@e] counts [1] head @e
func.func @e.fwd(%x: tensor<4x2x8xbf16>) attributes {lf.outputs = 0 : i64} {
  // expected-error @+1 {{expected elements 'f32' of statistics and gradients of parameters, got 'bf16'; run lf-mixed-precision after lf-differentiate}}
  %0 = lf.row_max %x {valid = 8 : i64} : (tensor<4x2x8xbf16>) -> tensor<4x2xbf16>
  return
}
func.func @e.bwd() attributes {lf.cotangents = 0 : i64} {
  return
}
