// parse: (C1) expected layer symbols with positive counts, got "a" x 1
lf.chain embed @embed layers ["a"] counts [1] head @head

// -----
// parse: (C1) expected one count for each run of layers, got 1 runs and 2 counts
lf.chain embed @embed layers [@a] counts [1, 2] head @head

// -----
// parse: (C1) expected layer symbols with positive counts, got @a x -3
lf.chain embed @embed layers [@a] counts [-3] head @head

// -----
// parse: region #0 ('body') failed to verify constraint: region with 1 blocks
"lf.program"() <{pp = 0 : i64, sym_name = "pp0"}> ({}) : () -> ()

// -----
// parse: 'lf.sync_grads' op expects parent op 'lf.program'
lf.sync_grads

// -----
// parse: (C2) expected "tp" to list axes of the mesh in its order, got 1 : i64
lf.mesh axes ["tp"] sizes [2] names {tp = [1]}

// -----
// parse: (C1) expected one size for each axis, got 2 axes and 1 sizes
lf.mesh axes ["tp", "dp"] sizes [2] names {}

// -----
// parse: (C3) expected a dim between 0 and -1, got 0
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = lf.all_gather %x dim 0 over ["tp"] : tensor<f32> -> tensor<f32>
  return %y : tensor<f32>
}

// -----
// parse: (C1) expected a spec such as "sbh,hf->sbf", got ",->->"
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = lf.matmul ",->->" %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----
// parse: (C1) expected a spec such as "sbh,hf->sbf", got ""
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = lf.matmul "" %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----
// parse: (F1) expected operand 0 of rank 26 (factors "abcdefghijklmnopqrstuvwxyz"), got rank 28
func.func @f(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) {
  %y = lf.sum %x, %x : (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>, tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
  return
}

// -----
// parse: (F1) expected operand 1 of rank 0 (factors ""), got rank 1
func.func @f(%x: tensor<f32>, %w: tensor<4xf32>) -> tensor<f32> {
  %y = lf.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<f32>, tensor<4xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----
// parse: (C1) expected inv_freq of d/2 entries for x [S, B, ..., d], got 0 entries
func.func @f(%x: tensor<f32>, %p: tensor<8xi32>) -> tensor<f32> {
  %y = lf.rope %x, %p {inv_freq = array<f64>} : (tensor<f32>, tensor<8xi32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----
// parse: expected a tensor of static shape, got 'f32'
lf.declare "f" "w" : f32 {split = [], closed = [], hf_name = "w", valid = array<i64>, rows = 0, hf_col = 0, hf_cols = 8, init = "ones", std = 0.0 : f64}

// -----
// parse: expected valid sizes between 1 and the dim 8, got 9
lf.declare "f" "w" : tensor<8xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 9>, rows = 0, hf_col = 0, hf_cols = 8, init = "ones", std = 0.0 : f64}

// -----
// parse: expected a factor (one letter, once), got ""
func.func @f() attributes {lf.roles = #lf.roles<"" = {tp}>} { return }

// -----
// parse: unbalanced '{'
func.func @f(%x: tensor<8xf32> {lf.layout = #lf.layout<[{tp>}) { return }

// -----
// parse: (F1) expected result 0 dim 1 to be 2 (factor "b" of operand 0), got 3
func.func @f(%x: tensor<8x2x4xf32>) -> tensor<8x3x4xf32> {
  %y = lf.activation %x {kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x3x4xf32>
  return %y : tensor<8x3x4xf32>
}

// -----
// parse: (F1) expected operand 0 of static shape
func.func @f(%x: tensor<?x2x4xf32>) {
  %y = lf.activation %x {kind = "silu"} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  return
}

// -----
// parse: must be ranked tensor of 32-bit float or 64-bit float or bfloat16 type values
func.func @f(%x: tensor<*xf32>) {
  %y = lf.activation %x {kind = "silu"} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----
// parse: must be ranked tensor of 32-bit signless integer values
func.func @f(%x: tensor<8x2x4x4xf32>, %p: tensor<8xi64>) {
  %y = lf.rope %x, %p {inv_freq = array<f64: 1.0, 0.1>} : (tensor<8x2x4x4xf32>, tensor<8xi64>) -> tensor<8x2x4x4xf32>
  return
}

// -----
// parse: requires attribute 'kind'
func.func @f(%x: tensor<8x2x4xf32>) {
  %y = "lf.activation"(%x) : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----
// parse: attribute 'id' failed to satisfy constraint: 64-bit signless integer attribute
func.func @f(%x: tensor<8x2x4xf32>) {
  %y = lf.activation %x {id = "0", kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----
// parse: attribute 'links' failed to satisfy constraint: string array attribute
func.func @f(%x: tensor<8x2x4xf32>) {
  %y = lf.activation %x {kind = "silu", links = [1]} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----
// parse: attribute 'pin' failed to satisfy constraint
func.func @f(%x: tensor<8x2x4xf32>) {
  %y = lf.activation %x {kind = "silu", pin = "tp"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----
// parse: (C1) expected a bias of at most rank 3, got rank 5
func.func @f(%x: tensor<8x2x4xf32>, %b: tensor<8x2x4x4x4xf32>) {
  %y = lf.bias_add %x, %b : (tensor<8x2x4xf32>, tensor<8x2x4x4x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----
// parse: (C1) expected at least 2 terms, got 0
func.func @f() {
  %y = lf.sum : () -> tensor<8xf32>
  return
}

// -----
// parse: expected one entry of "split" for each of 1 dims, got 3
lf.declare "f" "w" : tensor<8xf32> {split = ["", "", ""], closed = [], hf_name = "w", valid = array<i64: 8>, rows = 0, hf_col = 0, hf_cols = 8, init = "ones", std = 0.0 : f64}

// -----
// parse: expected rows between 0 and the rank 1
lf.declare "f" "w" : tensor<8xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 8>, rows = -1, hf_col = 0, hf_cols = 8, init = "ones", std = 0.0 : f64}
