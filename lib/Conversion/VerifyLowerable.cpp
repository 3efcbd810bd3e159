//===- VerifyLowerable.cpp - What lf-lower-to-runtime relies on --*- C++ -*-===//
//
// Every refusal of the lowering is here, at the op, with its cause; the conversion itself is total.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"
#include "lf/Conversion/Gemm.h"

namespace mlir::lfrt {
#define GEN_PASS_DEF_LFVERIFYLOWERABLE
#define GEN_PASS_DEF_LFVERIFYLOWERED
#include "lf/Dialect/LfrtPasses.h.inc"

static LogicalResult verifyMatmul(lf::MatmulOp op) {
  std::string why;
  if (::lf::asGemm(op.getSpec(), tensorOf(op.getLhs()).getShape().vec(), tensorOf(op.getRhs()).getShape().vec(), why))
    return success();
  return op.emitOpError() << "expected a product that is one GEMM, got \"" << op.getSpec() << "\" on "
                          << op.getLhs().getType() << " and " << op.getRhs().getType() << ": " << why;
}

static LogicalResult verifySlice(lf::SliceOp op, const Groups &groups) {
  RankedTensorType type = tensorOf(op.getX());
  if (!type.getElementType().isInteger(32) || groups.size(lf::axesOf(op.getAxes())) == 1)
    return success();
  for (int64_t size : type.getShape().take_front(op.getDim()))
    if (size != 1)
      return op.emitOpError() << "expected integers to be sliced along their outermost dim, got dim " << op.getDim()
                              << " of " << type;
  return success();
}

static LogicalResult verifyParameter(Operation *op, StringRef owner, StringRef name, Type type, const Groups &groups) {
  lf::DeclareOp declare = lf::DeclareOp::find(op, owner, name);
  if (!declare)
    return op->emitOpError() << "expected a parameter that is declared, got \"" << owner << "." << name << "\"";
  auto local = llvm::to_vector(cast<RankedTensorType>(declare.getType()).getShape());
  if (auto layout = declare.getLayout())
    for (auto [size, axes] : llvm::zip(local, layout->getDims()))
      size /= groups.size(lf::axesOf(cast<ArrayAttr>(axes)));
  if (ArrayRef<int64_t>(local) != cast<RankedTensorType>(type).getShape()) {
    InFlightDiagnostic diag = op->emitOpError() << "expected the local shape of \"" << owner << "." << name << "\", ";
    diag << RankedTensorType::get(local, cast<RankedTensorType>(type).getElementType()) << ", got " << type;
    return diag.attachNote(declare.getLoc()) << "declared here", diag;
  }
  Type element = cast<RankedTensorType>(declare.getType()).getElementType();
  if (isa<lf::AccumulateOp>(op))
    element = lf::mainTypeOf(element);
  if (cast<RankedTensorType>(type).getElementType() != element)
    return op->emitOpError() << "expected elements " << element << " of \"" << owner << "." << name << "\", got " << type
                             << "; run lf-mixed-precision after lf-differentiate";
  return success();
}

/// Statistics of a bfloat16 model have to be float32: that is what the kernels read and write.
static LogicalResult verifyPrecision(Operation *op) {
  lf::MainPositions positions = lf::mainPositions(op);
  auto check = [&](Value v) {
    Type element = tensorOf(v).getElementType();
    if (element == lf::mainTypeOf(element))
      return success();
    return LogicalResult(op->emitOpError() << "expected elements " << lf::mainTypeOf(element)
                                           << " of statistics and gradients of parameters, got " << element
                                           << "; run lf-mixed-precision after lf-differentiate");
  };
  for (unsigned i : positions.operands)
    if (failed(check(op->getOperand(i))))
      return failure();
  for (unsigned i : positions.results)
    if (failed(check(op->getResult(i))))
      return failure();
  return success();
}

static LogicalResult verifyOp(Operation *op, const Groups &groups) {
  if (failed(verifyPrecision(op)))
    return failure();
  StringRef own = lf::ownerOf(op);
  if (auto matmul = dyn_cast<lf::MatmulOp>(op))
    return verifyMatmul(matmul);
  if (auto slice = dyn_cast<lf::SliceOp>(op))
    return verifySlice(slice, groups);
  if (auto param = dyn_cast<lf::ParamOp>(op))
    return verifyParameter(op, param.getOwner().value_or(own), param.getName(), param.getType(), groups);
  if (auto accumulate = dyn_cast<lf::AccumulateOp>(op))
    return verifyParameter(op, accumulate.getOwner().value_or(own), accumulate.getName(),
                           accumulate.getGradient().getType(), groups);
  if (isa<lf::CrossEntropyOp>(op))
    return op->emitOpError() << "expected row_max, sum_exp, pick and nll, got cross_entropy; run "
                                "lf-expand-cross-entropy before lf-propagate";
  if (isa<lf::ShardingRuleInterface, lf::CollectiveInterface, func::ReturnOp>(op))
    return success();
  return op->emitOpError() << "expected a model op, a collective or a return, got \"" << op->getName() << "\"";
}

static FailureOr<int64_t> integerAttribute(func::FuncOp function, StringRef name) {
  if (auto attr = function->getAttrOfType<IntegerAttr>(name))
    return attr.getInt();
  return function.emitOpError() << "expected the attribute \"" << name << "\", got none";
}

/// Types that the lowering can give a place, a foreign parameter only where it is looked for.
static LogicalResult verifyFunction(func::FuncOp function, StringRef kind, lf::ChainOp chain) {
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || tensor.getNumElements() < 1)
      return function.emitOpError() << "expected tensors of static shape, got " << type;
  }
  if (function.front().empty() || !isa<func::ReturnOp>(function.front().back()))
    return function.emitOpError() << "expected a block that ends in a return, got none";
  for (const Name &name : parametersOf(function))
    if (name.first != kind && !(kind == chain.getHead() && name.first == chain.getEmbed()) &&
        !(chain.getMtp() == kind && (name.first == chain.getEmbed() || name.first == chain.getHead())))
      return function.emitOpError() << "expected parameters of \"" << kind << "\", or of \"" << chain.getEmbed()
                                    << "\" in the head, got \"" << name.first << "." << name.second << "\"";
  return success();
}

/// What is neither integer nor saved: [x] -> [y] of layers, [] -> [x] of the embedding, [x] -> [loss, count] of the
/// head, and the reverse in the backward.
/// Multi-token prediction has more outputs, its depths' sums and counts: verifyStages counts them.
static LogicalResult verifyBoundary(ModuleOp module, StringRef kind, bool isEmbed, bool isHead, bool isMtp,
                                    RankedTensorType x) {
  auto forward = module.lookupSymbol<func::FuncOp>((kind + ".fwd").str()),
       backward = module.lookupSymbol<func::FuncOp>((kind + ".bwd").str());
  auto holds = [&](func::FuncOp function, StringRef what, int64_t expected, ArrayRef<Type> types,
                   bool scalars = false) {
    bool fits = int64_t(types.size()) == expected && llvm::all_of(types, [&](Type type) {
                  return scalars ? cast<RankedTensorType>(type).getRank() == 0 : type == x;
                });
    if (fits)
      return true;
    InFlightDiagnostic diag = function.emitOpError() << "expected " << expected << " " << what << " of ";
    if (scalars)
      diag << "rank 0";
    else
      diag << "type " << x;
    diag << ", got (";
    llvm::interleaveComma(types, diag);
    diag << ")";
    return false;
  };
  SmallVector<Type> inputs;
  for (BlockArgument argument : forward.getArguments())
    if (!forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "lf.input"))
      inputs.push_back(argument.getType());
  int64_t outputs = forward->getAttrOfType<IntegerAttr>("lf.outputs").getInt();
  int64_t cotangents = backward->getAttrOfType<IntegerAttr>("lf.cotangents").getInt();
  int64_t crossing = 0;
  if (auto attr = backward->getAttrOfType<IntegerAttr>("lf.crossing"))
    crossing = attr.getInt();
  return success(holds(forward, "real inputs", !isEmbed, inputs) &&
                 holds(forward, "outputs", isHead ? 2 : 1,
                       forward.getResultTypes().take_front(isMtp ? std::min<int64_t>(outputs, 1) : outputs), isHead) &&
                 holds(backward, "cotangents", !isHead, backward.getArgumentTypes().take_front(cotangents)) &&
                 holds(backward, "results", !isEmbed, backward.getResultTypes().drop_back(crossing)));
}

/// Both functions of a kind, and that what one saves the other takes.
static LogicalResult verifyKind(ModuleOp module, StringRef kind, const Groups &groups, lf::ChainOp chain) {
  auto forward = module.lookupSymbol<func::FuncOp>((kind + ".fwd").str()),
       backward = module.lookupSymbol<func::FuncOp>((kind + ".bwd").str());
  for (auto [function, name] : {std::pair(forward, ".fwd"), std::pair(backward, ".bwd")}) {
    if (!function || !function.getBody().hasOneBlock())
      return module.emitError() << "expected a function @" << kind << name << " of one block, got none";
    for (Operation &op : function.front())
      if (failed(verifyOp(&op, groups)))
        return failure();
    if (failed(verifyFunction(function, kind, chain)))
      return failure();
  }
  // Before lf-split-backward none has a weight pass, after it each kind of layer has one; the ends of the chain never do.
  if (auto weight = module.lookupSymbol<func::FuncOp>((kind + ".wgrad").str())) {
    FailureOr<int64_t> crossing = integerAttribute(backward, "lf.crossing");
    if (failed(crossing))
      return failure();
    for (Operation &op : weight.front())
      if (failed(verifyOp(&op, groups)))
        return failure();
    if (*crossing > backward.getNumResults() || *crossing > weight.getNumArguments() ||
        backward.getResultTypes().take_back(*crossing) != weight.getArgumentTypes().take_back(*crossing))
      return weight.emitOpError() << "expected to take last what @" << kind << ".bwd returns last, " << *crossing
                                  << " values of the same types";
  } else if (backward->hasAttr("lf.crossing")) {
    return backward.emitOpError() << "expected a function @" << kind << ".wgrad beside it, got none";
  }
  FailureOr<int64_t> outputs = integerAttribute(forward, "lf.outputs"),
                     cotangents = integerAttribute(backward, "lf.cotangents");
  if (failed(outputs) || failed(cotangents))
    return failure();
  for (auto [function, name, value, most] :
       {std::tuple(forward, "lf.outputs", *outputs, int64_t(forward.getNumResults())),
        std::tuple(backward, "lf.cotangents", *cotangents, int64_t(backward.getNumArguments()))})
    if (value < 0 || value > most)
      return func::FuncOp(function).emitOpError()
             << "expected \"" << name << "\" between 0 and " << most << ", got " << value;
  for (BlockArgument argument : forward.getArguments())
    if (tensorOf(argument).getElementType().isInteger(32) &&
        !forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "lf.input"))
      return forward.emitOpError() << "expected lf.input on the integer argument " << argument.getArgNumber()
                                   << ", got none";
  SmallVector<Type> taken;
  for (BlockArgument argument : backward.getArguments().drop_front(*cotangents))
    if (!backward.getArgAttr(argument.getArgNumber(), "lf.input"))
      taken.push_back(argument.getType());
  ArrayRef<Type> saved = forward.getResultTypes().drop_front(*outputs);
  if (saved != ArrayRef<Type>(taken))
    return backward.emitOpError() << "expected to take what @" << kind << ".fwd saves, " << saved.size()
                                  << " values of the same types in order, got " << taken.size();
  for (Value v : forward.front().getTerminator()->getOperands().drop_front(*outputs)) {
    std::vector<lf::SliceOp> slices;
    if (BlockArgument source = integerSource(groups, v, slices)) {
      auto input = forward.getArgAttrOfType<StringAttr>(source.getArgNumber(), "lf.input");
      bool found = false;
      for (unsigned i = 0; i < backward.getNumArguments() && input; ++i)
        found |= backward.getArgAttr(i, "lf.input") == input;
      if (!found)
        return backward.emitOpError() << "expected an argument with lf.input = " << input << ", whose parts @" << kind
                                      << ".fwd saves, got none";
    }
  }
  return success();
}

/// (whole sequence / cp) x samples ids and labels; positions whole or a cp-th.
static LogicalResult verifyInputs(ModuleOp module, ArrayRef<StringRef> kinds, const Groups &groups) {
  RankedTensorType tokens;
  lf::MeshOp mesh = groups.mesh;
  int64_t cp = groups.size(mesh.getStrategy("cp"));
  for (StringRef pass : {".fwd", ".bwd"})
    for (StringRef kind : kinds) {
      auto function = module.lookupSymbol<func::FuncOp>((kind + pass).str());
      for (BlockArgument argument : function.getArguments()) {
        auto input = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "lf.input");
        if (!input)
          continue;
        RankedTensorType type = tensorOf(argument);
        if (input.getValue() == "positions") {
          int64_t whole = tokens ? tokens.getDimSize(0) * cp : 0;
          if (type.getRank() != 1 || (type.getDimSize(0) != whole && type.getDimSize(0) * cp != whole))
            return function.emitOpError()
                   << "expected positions of the whole sequence, " << whole << ", or of a cp-th of it, got " << type;
        } else if (shiftOf(input.getValue()) >= 0) {
          if (type.getRank() != 2 || (tokens && tokens != type))
            return function.emitOpError() << "expected ids and labels of one shape [S/cp, B], got " << type;
          tokens = type;
        } else {
          return function.emitOpError()
                 << "expected lf.input \"ids\", \"labels\" (\"_N\" after them: shifted by N) or \"positions\", got "
                 << input;
        }
      }
    }
  return success();
}

static LogicalResult verifyStages(ModuleOp module) {
  SmallVector<lf::StageOp> stages(module.getOps<lf::StageOp>());
  if (stages.empty())
    return module.emitError() << "expected at least one lf.stage, got none; run lf-assign-stages first";
  for (auto [i, stage] : llvm::enumerate(stages))
    if (stage.getEmbed() != (i == 0) || stage.getHead() != (i + 1 == stages.size()))
      return stage.emitOpError() << "expected the embedding on the first stage and the head on the last, got stage "
                                 << i << " of " << stages.size();
  lf::ChainOp chain = *module.getOps<lf::ChainOp>().begin();
  for (lf::StageOp stage : stages) {
    for (Attribute kind : stage.getLayers())
      if (!llvm::is_contained(chain.getLayers(), kind))
        return stage.emitOpError() << "expected layers of the chain's kinds, got " << kind;
    if (ArrayAttr tail = stage.getTailAttr())
      for (Attribute body : tail)
        if (body != chain.getFinalAttr() && body != chain.getMtpAttr())
          return stage.emitOpError() << "expected the chain's final norm or multi-token prediction in tail, got "
                                     << body;
  }
  if (chain.getMtp()) {
    auto forward = module.lookupSymbol<func::FuncOp>((*chain.getMtp() + ".fwd").str());
    int64_t outputs = forward->getAttrOfType<IntegerAttr>("lf.outputs").getInt(), wanted = 1 + 2 * chain.getDepths();
    if (outputs != wanted)
      return forward.emitOpError() << "expected " << wanted
                                   << " outputs (the stream, a loss sum and a count for each of "
                                   << int64_t(chain.getDepths()) << " depths), got " << outputs;
  }
  llvm::SmallDenseSet<int64_t> ranks;
  for (lf::ProgramOp program : module.getOps<lf::ProgramOp>())
    if (!ranks.insert(program.getPp()).second)
      return program.emitOpError() << "expected one program for each pipeline rank, got a second for "
                                   << program.getPp();
  for (lf::StageOp stage : stages)
    if (!ranks.count(stage.getPp()))
      return stage.emitOpError() << "expected a program for pipeline rank " << stage.getPp()
                                 << ", got none; run lf-build-schedule first";
  bool split =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp f) { return f.getSymName().ends_with(".wgrad"); });
  WalkResult lines = module.walk([&](lf::RunOp run) {
    if (run.getPass() == "forward" || run.getPass() == "backward" || (split && run.getPass() == "weight"))
      return WalkResult::advance();
    run.emitOpError() << "expected pass \"forward\"" << (split ? ", \"backward\" or \"weight\"" : " or \"backward\"")
                      << ", got \"" << run.getPass() << "\"";
    return WalkResult::interrupt();
  });
  if (lines.wasInterrupted())
    return failure();
  llvm::SmallDenseSet<Attribute> names;
  for (lf::StageOp stage : stages)
    names.insert(stage.getSymNameAttr());
  for (lf::ProgramOp program : module.getOps<lf::ProgramOp>())
    for (Operation &line : program.getBody().front())
      for (StringRef place : {"stage", "from", "to"}) // getAttrs would make a dictionary for every line
        if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(line.getInherentAttr(place).value_or(Attribute()));
            symbol && !names.contains(symbol.getAttr()))
          return line.emitOpError() << "expected a stage, got " << symbol;
  return success();
}

LogicalResult verifyLowerable(ModuleOp module) {
  lf::MeshOp mesh = lf::MeshOp::find(module);
  if (!mesh || module.getOps<lf::ChainOp>().empty())
    return module.emitError() << "expected an lf.mesh and an lf.chain, got none";
  Groups groups(mesh);
  for (lf::DeclareOp declare : module.getOps<lf::DeclareOp>())
    if (auto layout = declare.getLayout(); layout && !layout->getFlat().empty())
      return declare.emitOpError() << "expected a parameter that is stored whole, got flat axes " << layout->getFlat();
  lf::ChainOp chain = *module.getOps<lf::ChainOp>().begin();
  SmallVector<StringRef> kinds = {chain.getEmbed(), chain.getHead()};
  for (Attribute layer : chain.getLayers())
    if (StringRef name = cast<FlatSymbolRefAttr>(layer).getValue(); !llvm::is_contained(kinds, name))
      kinds.push_back(name);
  for (std::optional<StringRef> name : {chain.getFinal(), chain.getMtp()})
    if (name)
      kinds.push_back(*name);
  for (StringRef kind : kinds)
    if (failed(verifyKind(module, kind, groups, chain)))
      return failure();
  if (failed(verifyInputs(module, kinds, groups)))
    return failure();
  auto embed = module.lookupSymbol<func::FuncOp>((chain.getEmbed() + ".fwd").str());
  if (embed.getNumResults() == 0)
    return embed.emitOpError() << "expected a result, the input of the first layer, got none";
  auto x = cast<RankedTensorType>(embed.getResultTypes()[0]);
  for (StringRef kind : kinds)
    if (failed(verifyBoundary(module, kind, kind == chain.getEmbed(), kind == chain.getHead(), chain.getMtp() == kind, x)))
      return failure();
  return verifyStages(module);
}

namespace {
struct VerifyLowerable : impl::LfVerifyLowerableBase<VerifyLowerable> {
  void runOnOperation() override {
    if (failed(verifyLowerable(getOperation())))
      signalPassFailure();
  }
};

struct VerifyLowered : impl::LfVerifyLoweredBase<VerifyLowered> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (op->getName().getDialectNamespace() == "lf" || isa<func::FuncOp>(op)) {
        op->emitOpError() << "expected no op of lf after lf-lower-to-runtime, got \"" << op->getName() << "\"";
        return WalkResult::interrupt();
      }
      if (auto slot = dyn_cast<SlotOp>(op); slot && !slot.getOffset()) {
        op->emitOpError() << "expected an offset after lf-plan-memory, got none";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

} // namespace mlir::lfrt
