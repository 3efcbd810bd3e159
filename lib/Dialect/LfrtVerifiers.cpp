//===- LfrtVerifiers.cpp - Constraints of the runtime ops --------*- C++ -*-===//
//
// C1, C2 ... as numbered in dialects/lfrt/*.td.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lfrt.h"

using namespace mlir;
using namespace mlir::lfrt;

static BufferType bufferOf(Value v) { return cast<BufferType>(v.getType()); }

LogicalResult BufferType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type element, int64_t count) {
  if (!element.isF32() && !element.isF64() && !element.isBF16() && !element.isInteger(32))
    return emitError() << "expected elements f32, f64, bf16 or i32, got " << element;
  if (count < 1)
    return emitError() << "expected at least 1 element, got " << count;
  return success();
}

LogicalResult SpotAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringAttr arena, int64_t offset) {
  if (arena.getValue() != "saved" && arena.getValue() != "workspace")
    return emitError() << "expected arena \"saved\" or \"workspace\", got " << arena;
  if (offset < 0 || offset % 64)
    return emitError() << "expected an offset that is a multiple of 64, got " << offset;
  return success();
}

LogicalResult MeshOp::verify() {
  if (getAxes().size() != getSizes().size() || getAxes().size() > 12)
    return emitOpError() << "(C1) expected one size for each of at most 12 axes, got " << getAxes().size()
                         << " axes and " << getSizes().size() << " sizes";
  return success();
}

LogicalResult CommOp::verify() {
  MeshOp mesh = findMesh(*this);
  for (Attribute axis : getAxes())
    if (!mesh || !llvm::is_contained(mesh.getAxes(), axis))
      return emitOpError() << "(C1) expected axes of the mesh, got " << axis;
  return success();
}

LogicalResult ParameterOp::verify() {
  size_t rank = getShape().size();
  if (rank > 6 || getValid().size() != rank || getSplit().size() != rank)
    return emitOpError() << "(C1) expected one entry of \"valid\" and \"split\" for each of at most 6 dims, got "
                         << rank << " dims, " << getValid().size() << " and " << getSplit().size();
  if (!llvm::is_contained({"zeros", "ones", "normal"}, getInit()))
    return emitOpError() << "(C1) expected init \"zeros\", \"ones\" or \"normal\", got \"" << getInit() << "\"";
  return success();
}

LogicalResult FuncOp::verify() {
  if (getNames().size() != getBody().getNumArguments())
    return emitOpError() << "(C1) expected one name for each argument, got " << getNames().size() << " names and "
                         << getBody().getNumArguments() << " arguments";
  if (getKind() != "body" && getKind() != "action")
    return emitOpError() << "(C1) expected kind \"body\" or \"action\", got \"" << getKind() << "\"";
  return success();
}

LogicalResult CallOp::verify() {
  auto callee = (*this)->getParentOfType<ModuleOp>().lookupSymbol<FuncOp>(getCallee());
  if (!callee || !callee.isBody())
    return emitOpError() << "(C1) expected a body, got @" << getCallee();
  size_t integers = 0;
  for (Attribute name : callee.getNames())
    integers += !llvm::is_contained({"input", "output"}, cast<StringAttr>(name).getValue());
  if (integers != getIntegers().size())
    return emitOpError() << "(C2) expected " << integers << " integers for @" << getCallee() << ", got "
                         << getIntegers().size();
  if (getCount() < 1)
    return emitOpError() << "(C2) expected at least 1 layer, got " << getCount();
  if (getReverse() && getCount() > 1 && getScratch().size() != 2)
    return emitOpError() << "(C2) expected 2 scratch buffers for " << getCount() << " layers, got "
                         << getScratch().size();
  return success();
}

LogicalResult MessageOp::verify() {
  if (getFrom() == getTo() || int64_t(getFrom()) < 0 || int64_t(getTo()) < 0 || int64_t(getTag()) < 0)
    return emitOpError() << "(C1) expected two different pipeline ranks and a tag of 0 or more, got ranks " << getFrom()
                         << " and " << getTo() << " and tag " << getTag();
  return success();
}

/// (C1) of both halves of a receive.
static LogicalResult verifyHalf(Operation *op, Value y, StringRef name) {
  auto action = cast<FuncOp>(op->getParentOp());
  if (action.isBody() || action.getArgument(name) != y)
    return op->emitOpError() << "(C1) expected the \"" << name << "\" of an action, got another buffer";
  return success();
}
LogicalResult PostRecvOp::verify() { return verifyHalf(*this, getY(), "output"); }
LogicalResult WaitRecvOp::verify() { return verifyHalf(*this, getY(), "input"); }

namespace {
/// A receive that is posted and not yet waited for.
struct OpenPost {
  SpotAttr spot;
  int64_t bytes, pp, tag;
  RunOp row;
};

/// (C2) of lfrt.program, row by row.
class PostWalk {
public:
  LogicalResult visit(RunOp row, FuncOp action) {
    auto posts = action.getBody().getOps<PostRecvOp>();
    auto waits = action.getBody().getOps<WaitRecvOp>();
    for (WaitRecvOp wait : waits)
      if (failed(close(row, wait)))
        return failure();
    for (OpenPost &post : open)
      for (auto [name, spot] : {std::pair("input", row.getInput()), {"output", row.getOutput()}})
        if (Value argument = action.getArgument(name); argument && spot && touches(*spot, bufferOf(argument), post))
          return row.emitOpError() << "(C2) expected no " << name << " in the place of a receive that is posted, got "
                                   << *spot << ", where " << post.row.getCalleeAttr() << " of micro-batch "
                                   << post.row.getMicroBatch() << " receives";
    for (PostRecvOp post : posts) {
      if (!row.getOutput())
        return row.emitOpError() << "(C2) expected an output, where the message goes, got none";
      open.push_back({*row.getOutput(), bufferOf(post.getY()).getBytes(), int64_t(post.getPp()), int64_t(post.getTag()), row});
    }
    return success();
  }

  LogicalResult finish() {
    if (open.empty())
      return success();
    return open.front().row.emitOpError() << "(C2) expected a row that waits for this receive, got the end of the program";
  }

private:
  LogicalResult close(RunOp row, WaitRecvOp wait) {
    auto post = llvm::find_if(open, [&](const OpenPost &p) {
      return p.pp == int64_t(wait.getPp()) && p.tag == int64_t(wait.getTag());
    });
    if (post == open.end())
      return row.emitOpError() << "(C2) expected a row before this one that posts the receive from pipeline rank "
                               << wait.getPp() << ", tag " << wait.getTag() << ", got none";
    if (!row.getInput() || *row.getInput() != post->spot || bufferOf(wait.getY()).getBytes() != post->bytes)
      return row.emitOpError() << "(C2) expected the input where the message was posted, " << post->spot << " of "
                               << post->bytes << " bytes, got another place";
    open.erase(post);
    return success();
  }

  static bool touches(SpotAttr spot, BufferType type, const OpenPost &post) {
    return spot.getArena() == post.spot.getArena() && spot.getOffset() < post.spot.getOffset() + post.bytes &&
           post.spot.getOffset() < spot.getOffset() + type.getBytes();
  }

  SmallVector<OpenPost> open; ///< oldest first
};
} // namespace

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &symbols) {
  PostWalk walk;
  for (RunOp row : getBody().getOps<RunOp>())
    if (auto action = symbols.lookupNearestSymbolFrom<FuncOp>(row, row.getCalleeAttr()); action && !action.isBody())
      if (failed(walk.visit(row, action)))
        return failure();
  return walk.finish();
}

LogicalResult SlotOp::verify() {
  if (!llvm::is_contained({"bundle", "workspace", "output"}, getArena()))
    return emitOpError() << "(C1) expected arena \"bundle\", \"workspace\" or \"output\", got \"" << getArena() << "\"";
  if (getOffset() && (int64_t(*getOffset()) < 0 || *getOffset() % 64))
    return emitOpError() << "(C1) expected an offset that is a multiple of 64, got " << *getOffset();
  return success();
}

LogicalResult ViewOp::verify() {
  MeshOp mesh = findMesh(*this);
  int64_t parts = mesh ? sizeOf(mesh, getOffset().getAxes()) : 1;
  if (bufferOf(getResult()).getCount() * parts != bufferOf(getX()).getCount())
    return emitOpError() << "(C1) expected 1/" << parts << " of " << bufferOf(getX()).getCount() << " elements, got "
                         << bufferOf(getResult()).getCount();
  return success();
}

static bool fits(char kind, Attribute attr) {
  switch (kind) {
  case 'i':
  case 'n':
    return isa<IntegerAttr>(attr);
  case 'o':
    return isa<IntegerAttr, CoordinateAttr>(attr);
  case 'f':
    return isa<FloatAttr>(attr);
  case 'a':
    return isa<StringAttr>(attr);
  case 'v':
    return isa<DenseF64ArrayAttr>(attr);
  default:
    return false;
  }
}

LogicalResult LaunchOp::verify() {
  const Kernel *kernel = findKernel(getKernel());
  if (!kernel)
    return emitOpError() << "(C1) expected a kernel of runtime.h, got \"" << getKernel() << "\"";
  int inputs = getInputs().size(), outputs = getOutputs().size();
  if ((kernel->inputs >= 0 ? kernel->inputs != inputs : inputs < 1) || kernel->outputs != outputs)
    return emitOpError() << "(C2) expected " << kernel->inputs << " inputs and " << kernel->outputs << " outputs of \""
                         << kernel->name << "\", got " << inputs << " and " << outputs;
  if (kernel->args.size() != getArgs().size())
    return emitOpError() << "(C2) expected " << kernel->args.size() << " arguments of \"" << kernel->name << "\", got "
                         << getArgs().size();
  for (auto [i, kind] : llvm::enumerate(kernel->args))
    if (!fits(kind, getArgs()[i]))
      return emitOpError() << "(C2) expected argument " << i << " of \"" << kernel->name << "\" to be of kind '"
                           << std::string(1, kind) << "', got " << getArgs()[i];
  return success();
}

LogicalResult MaskOp::verify() {
  if (getX().getType() != getY().getType())
    return emitOpError() << "(C1) expected one type, got " << getX().getType() << " and " << getY().getType();
  return success();
}

LogicalResult AddLossOp::verify() {
  if (bufferOf(getLoss()).getCount() != 1 || bufferOf(getTokens()).getCount() != 1)
    return emitOpError() << "(C1) expected single elements, got " << getLoss().getType() << " and "
                         << getTokens().getType();
  return success();
}

/// (C1) and (C2) of collectives: y has grow/shrink times the elements of x, where 0 stands for the size of the group.
static LogicalResult verifyCollective(Operation *op, StringRef comm, Value x, Value y, int64_t grow, int64_t shrink) {
  CommOp declared = findComm(op, comm);
  if (!declared)
    return op->emitOpError() << "(C1) expected a declared communicator, got \"" << comm << "\"";
  MeshOp mesh = findMesh(op); // a communicator behind op is not verified yet
  if (!mesh)
    return op->emitOpError() << "(C1) expected communicator \"" << comm << "\" to have a mesh, got none";
  int64_t n = sizeOf(mesh, declared.getAxes());
  int64_t from = bufferOf(x).getCount(), to = bufferOf(y).getCount();
  if (from * (grow ? grow : n) != to * (shrink ? shrink : n))
    return op->emitOpError() << "(C2) expected counts that fit a group of " << n << ", got " << from << " and " << to;
  return success();
}
LogicalResult AllGatherOp::verify() { return verifyCollective(*this, getComm(), getX(), getY(), 0, 1); }
LogicalResult ReduceScatterOp::verify() { return verifyCollective(*this, getComm(), getX(), getY(), 1, 0); }
LogicalResult AllReduceOp::verify() { return verifyCollective(*this, getComm(), getX(), getY(), 1, 1); }
LogicalResult AllToAllOp::verify() { return verifyCollective(*this, getComm(), getX(), getY(), 1, 1); }
