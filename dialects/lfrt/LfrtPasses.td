//===- LfrtPasses.td - From lf to C++ --------------------------*- tablegen -*-===//
//
// In the order in which lf-lower runs them.
//
//===----------------------------------------------------------------------===//

#ifndef LFRT_PASSES_TD
#define LFRT_PASSES_TD

include "mlir/Pass/PassBase.td"

class Lfrt_Pass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mlir::lf::LfDialect", "::mlir::lfrt::LfrtDialect", "::mlir::func::FuncDialect"];
}

def LfVerifyLowerable : Lfrt_Pass<"lf-verify-lowerable"> {
  let summary = "prove that lf-lower-to-runtime can lower this module";
  let description = [{
    Products are one GEMM each, integers are sliced along their outermost dim, parameters have no flat axes, and
    every function has its twin. What is refused is refused here, at the op, with its cause.
  }];
}

def LfLowerToRuntime : Lfrt_Pass<"lf-lower-to-runtime"> {
  let summary = "replace the functions and programs of lf by those of lfrt";
  let description = [{
    ```mlir
    %n = lf.rms_norm %x, %g {...} : ...            %n = lfrt.slot "input_norm" in "workspace" : <f32 x 256>
                                             =>    lfrt.launch "rms_norm" "input_norm" ins(%x, %g) outs(%n) args [...]
    %a = lf.all_gather %n dim 0 over ["tp"]        %e = lfrt.record "compute"
                                                   lfrt.wait "tp" for %e
                                                   lfrt.all_gather "input_norm" %n into %a comm "tp"
                                                   %f = lfrt.record "tp"
                                                   lfrt.wait "compute" for %f
    ```
    Saved values go to their place in the layer's bundle, a layer's output to the bundle of the layer that reads it, a
    product that is only accumulated straight into its gradient. Bundles and messages get their bytes here; the
    workspace of bodies in lf-plan-memory, so that code can still move between the two.
  }];
}

def LfPlanMemory : Lfrt_Pass<"lf-plan-memory"> {
  let summary = "give every workspace slot its offset";
  let description = [{
    A slot is alive from the first op that touches it to the last (of a collective: to the wait for it). Slots are
    placed
    largest first into the gap that fits best; slots that are dead before the output is written lie inside the output.
    `workspace`, `planned` and `live` of lfrt.memory say what came out and what would be the least.
  }];
}

def LfVerifyLowered : Lfrt_Pass<"lf-verify-lowered"> {
  let summary = "prove that no lf op is left and every slot has its place";
}

def LfEmitCpp : Lfrt_Pass<"lf-emit-cpp"> {
  let summary = "replace the module's content by emitc, one statement a line";
  let description = "What mlir-translate --mlir-to-cpp then prints is the program that lf-compile compiles.";
  let dependentDialects = ["::mlir::lfrt::LfrtDialect", "::mlir::emitc::EmitCDialect"];
}

#endif // LFRT_PASSES_TD
