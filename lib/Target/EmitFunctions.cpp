//===- EmitFunctions.cpp - Bodies and actions as functions -------*- C++ -*-===//
//
// One statement for each op; a table of what each op is called with.
//
//===----------------------------------------------------------------------===//
#include "Writer.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::lfrt {

namespace {
/// What a body takes besides its rank: only what it uses, so that the emitted program has no unused argument.
struct Signature {
  bool places = false, bundle = false, work = false;
  SmallVector<bool> arguments;
  explicit Signature(FuncOp func) {
    func.walk([&](Operation *op) {
      if (auto slot = dyn_cast<SlotOp>(op)) {
        bundle |= slot.getArena() == "bundle";
        work |= slot.getArena() == "workspace";
      }
      places |= isa<ParamOp, GradientOp>(op);
    });
    for (BlockArgument argument : func.getBody().getArguments())
      arguments.push_back(
          !argument.use_empty() ||
          (cast<StringAttr>(func.getNames()[argument.getArgNumber()]).getValue() == "output" &&
           llvm::any_of(func.getBody().getOps<SlotOp>(), [](SlotOp s) { return s.getArena() == "output"; })));
  }
};

class FunctionWriter {
public:
  FunctionWriter(Writer &w, FuncOp func) : w(w), func(func) {}
  void run();

private:
  void bodyHeader();
  void actionHeader();
  void statement(Operation *op);
  void launch(LaunchOp op);
  void call(CallOp op);
  void define(Value v, StringRef name, const Twine &value);
  std::string name(Value v) const { return names.lookup(v); }
  std::string pointer(Type type) const {
    return cast<BufferType>(type).getElement().isInteger(32) ? "int32_t *" : "void *";
  }
  std::string unique(std::string text) {
    int n = taken[text]++;
    return n ? unique(text + "_" + std::to_string(n + 1)) : text;
  }
  std::string receive(StringRef function, StringRef what, Value y, int64_t pp, int64_t tag) {
    return "lf_" + function.str() + "(r, " + literal(what) + ", " + name(y) + ", " + std::to_string(cast<BufferType>(y.getType()).getCount()) + ", " +
           dtypeName(cast<BufferType>(y.getType()).getElement()).str() + ", " + std::to_string(pp) + ", " +
           std::to_string(tag) + ");";
  }
  std::string collective(StringRef function, StringRef what, Value x, Value y, int64_t count, const Twine &reduction,
                         StringRef comm) {
    return ("lf_" + function + "(r, " + literal(what) + ", " + name(x) + ", " + name(y) + ", " + Twine(count) +
            ", " + dtypeName(cast<BufferType>(y.getType()).getElement()) + reduction + ", " + Twine(w.comm(comm)) + ", " + w.stream(comm) + ");")
        .str();
  }

  Writer &w;
  FuncOp func;
  llvm::DenseMap<Value, std::string> names;
  std::map<std::string, int> taken;
};
} // namespace

static int64_t countOf(Value v) { return cast<BufferType>(v.getType()).getCount(); }

void FunctionWriter::define(Value v, StringRef label, const Twine &value) {
  if (v.use_empty())
    return;
  names[v] = unique(identifier(label));
  BufferType type = cast<BufferType>(v.getType());
  StringRef cast = type.getElement().isInteger(32) ? "(int32_t *)" : "";
  w.line("  " + pointer(type) + names[v] + " = " + cast + (cast.empty() ? value : "(" + value + ")") + "; // " +
         Twine(type.getCount()));
}

void FunctionWriter::bodyHeader() {
  Signature signature(func);
  std::string text = "static void " + identifier(func.getSymName()) + "(lf_rank *r";
  if (signature.places)
    text += ", const int32_t *at, int32_t layer";
  if (signature.bundle)
    text += ", char *bundle";
  if (signature.work)
    text += ", char *work";
  for (auto [argument, label, used] : llvm::zip(func.getBody().getArguments(), func.getNames(), signature.arguments))
    if (used) {
      names[argument] = cast<StringAttr>(label).getValue().str();
      taken[names[argument]] = 1;
      bool written = names[argument] == "output";
      text += (", " + (written ? "char *" : pointer(argument.getType())) + names[argument]);
    }
  w.line(text + ") {");
}

void FunctionWriter::actionHeader() {
  bool action = false;
  for (Operation &op : func.getBody().front()) {
    action |= isa<CallOp>(op);
    if (auto slot = dyn_cast<SlotOp>(op))
      action |= slot.getArena() == "bundle" && !slot.getResult().use_empty();
  }
  for (BlockArgument argument : func.getBody().getArguments())
    action |= !argument.use_empty();
  w.line("static void " + identifier(func.getSymName()) + "(lf_rank *r, const Action &" + (action ? "a" : "") + ") {");
  for (auto [argument, label] : llvm::zip(func.getBody().getArguments(), func.getNames()))
    if (!argument.use_empty()) {
      names[argument] = cast<StringAttr>(label).getValue().str();
      taken[names[argument]] = 1;
      w.line("  char *" + names[argument] + " = spot(r, a." + names[argument] + ");");
    }
}

void FunctionWriter::launch(LaunchOp op) {
  const Kernel *kernel = findKernel(op.getKernel());
  std::string text = "lf_" + op.getKernel().str() + "(r, " + literal(op.getWhat());
  if (kernel->inputs < 0) {
    text += ", ";
    std::string terms = unique("terms"), list;
    for (auto [i, v] : llvm::enumerate(op.getInputs()))
      list += (i ? ", " : "") + name(v);
    w.line("  const void *const " + terms + "[] = {" + list + "};");
    text += terms + ", " + std::to_string(op.getInputs().size());
  } else {
    for (Value v : op.getInputs())
      text += ", " + name(v);
  }
  for (Value v : op.getOutputs())
    text += ", " + name(v);
  for (auto [kind, attr] : llvm::zip(kernel->args, op.getArgs())) {
    text += ", ";
    if (auto integer = dyn_cast<IntegerAttr>(attr))
      text += std::to_string(integer.getInt());
    else if (auto real = dyn_cast<FloatAttr>(attr))
      text += number(real.getValueAsDouble());
    else if (auto offset = dyn_cast<CoordinateAttr>(attr))
      text += w.offset(offset);
    else if (auto kindName = dyn_cast<StringAttr>(attr))
      text += "LF_" + kindName.getValue().upper();
    else {
      std::string contents;
      for (double value : cast<DenseF64ArrayAttr>(attr).asArrayRef())
        contents += (contents.empty() ? "" : ", ") + number(value);
      text += w.arrays.at(contents);
    }
  }
  if (kernel->typed)
    text += ", " + dtypeName(cast<BufferType>(op.getOutputs().front().getType()).getElement()).str();
  w.line("  " + text + ");");
}

/// The arguments of one call of a body, in the order of bodyHeader.
static std::string callArguments(CallOp op, FuncOp callee, StringRef layer, StringRef bundle, const std::string &input,
                                 const std::string &output, ArrayRef<std::string> integers) {
  Signature signature(callee);
  std::string text = "(r";
  if (signature.places)
    text += ", at, " + layer.str();
  if (signature.bundle)
    text += ", " + bundle.str();
  if (signature.work)
    text += ", work + " + std::to_string(op.getWork());
  size_t next = 0;
  for (auto [label, used] : llvm::zip(callee.getNames(), signature.arguments)) {
    StringRef name = cast<StringAttr>(label).getValue();
    std::string value = name == "input" ? input : name == "output" ? output : integers[next++];
    if (used)
      text += ", " + value;
  }
  return text + ");";
}

void FunctionWriter::call(CallOp op) {
  auto callee = w.from.lookupSymbol<FuncOp>(op.getCallee());
  Signature signature(callee);
  std::string function = identifier(op.getCallee()), places;
  for (int64_t place : op.getPlaces())
    places += (places.empty() ? "" : ", ") + std::to_string(place);
  SmallVector<std::string> integers;
  for (Value v : op.getIntegers())
    integers.push_back(name(v));
  int64_t first = op.getFirst(), count = op.getCount();
  bool loop = count > 1;
  w.line("  {");
  if (signature.places)
    w.line("    static const int32_t at[] = {" + places + "};");
  std::string in = loop ? "    " : "  ",
              layer = loop ? first ? std::to_string(first) + " + i" : "i" : std::to_string(first);
  std::string bundle = "saved + " + std::to_string(op.getBundle()), stride = std::to_string(op.getStride());
  if (loop)
    bundle += " + i * INT64_C(" + stride + ")";
  std::string input, output;
  if (op.getReverse()) {
    input = op.getInput() ? name(op.getInput()) : "nullptr";
    output = op.getOutput() ? name(op.getOutput()) : "nullptr";
    if (loop) {
      w.line("    char *const between[] = {(char *)" + name(op.getScratch()[0]) + ", (char *)" +
             name(op.getScratch()[1]) + "};");
      w.line("    char *dy = (char *)" + input + ";");
      w.line("    for (int32_t i = " + Twine(count - 1) + "; i >= 0; --i) {");
      w.line("      char *dx = i ? between[(" + Twine(count - 1) + " - i) % 2] : (char *)" + output + ";");
      input = "dy";
      output = "dx";
    } else if (op.getOutput()) {
      output = "(char *)" + output;
    }
  } else {
    input = bundle;
    std::string next =
        "saved + " + std::to_string(op.getBundle() + op.getStride()) + (loop ? " + i * INT64_C(" + stride + ")" : "");
    output = !op.getOutput() ? next
             : loop          ? "i + 1 < " + std::to_string(count) + " ? " + next + " : " + name(op.getOutput())
                             : name(op.getOutput());
    if (loop)
      w.line("    for (int32_t i = 0; i < " + Twine(count) + "; ++i) {");
  }
  w.line(in + "  lf_enter(r, " + literal(op.getCallee()) + ", " + layer + ", a.micro_batch);");
  w.line(in + "  " + function + callArguments(op, callee, layer, bundle, input, output, integers));
  if (loop) {
    if (op.getReverse())
      w.line("      dy = dx;");
    w.line("    }");
  }
  w.line("  }");
}

void FunctionWriter::statement(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case([&](SlotOp o) {
        StringRef base = o.getArena() == "output"   ? "output"
                         : o.getArena() == "bundle" ? (func.isBody() ? "bundle" : "saved")
                                                    : "work";
        define(o.getResult(), o.getName(), base + " + " + Twine(o.getOffset().value_or(0)));
      })
      .Case([&](ParamOp o) {
        define(o.getResult(), ("w_" + o.getName()).str(), "parameter(r, at[" + Twine(o.getIndex()) + "], layer)");
      })
      .Case([&](GradientOp o) {
        define(o.getResult(), ("g_" + o.getName()).str(), "gradient(r, at[" + Twine(o.getIndex()) + "], layer)");
      })
      .Case([&](GradientsOp o) {
        define(o.getResult(), o.getName(), "(" + w.mainName + " *)lf_arena(r, LF_GRADIENTS) + " + Twine(o.getOffset()));
      })
      .Case([&](ViewOp o) {
        define(o.getResult(), name(o.getX()) + "_part", name(o.getX()) + " + " + w.offset(o.getOffset()));
      })
      .Case([&](LaunchOp o) { launch(o); })
      .Case([&](CallOp o) { call(o); })
      .Case([&](MaskOp o) {
        std::string tail = name(o.getY()) + ", " + std::to_string(countOf(o.getY())) + ", " +
                           dtypeName(cast<BufferType>(o.getY().getType()).getElement()).str() + ");";
        w.line("  if (lf_coordinate(r, " + w.mask(o.getAxes()) + ") == 0)");
        w.line("    lf_copy(r, " + literal(o.getWhat()) + ", " + name(o.getX()) + ", " + tail);
        w.line("  else");
        w.line("    lf_zero(r, " + literal(o.getWhat()) + ", " + tail);
      })
      .Case([&](AddLossOp o) {
        std::string counted = o.getRepeated().empty() ? "1" : "lf_coordinate(r, " + w.mask(o.getRepeated()) + ") == 0";
        if (o.getDepth())
          w.line("  lf_add_depth_loss(r, " + Twine(*o.getDepth()) + ", " + name(o.getLoss()) + ", " +
                 name(o.getTokens()) + ", " + counted + ");");
        else
          w.line("  lf_add_loss(r, " + name(o.getLoss()) + ", " + name(o.getTokens()) + ", " + counted + ");");
      })
      .Case([&](RecordOp o) {
        names[o.getEvent()] = unique(identifier(o.getStream().str() + "_done"));
        w.line("  const lf_event " + names[o.getEvent()] + " = lf_record(r, " + w.stream(o.getStream()) + ");");
      })
      .Case([&](WaitOp o) { w.line("  lf_wait(r, " + w.stream(o.getStream()) + ", " + name(o.getEvent()) + ");"); })
      .Case([&](AllGatherOp o) {
        w.line("  " + collective("all_gather", o.getWhat(), o.getX(), o.getY(), countOf(o.getX()), "", o.getComm()));
      })
      .Case([&](ReduceScatterOp o) {
        w.line("  " + collective("reduce_scatter", o.getWhat(), o.getX(), o.getY(), countOf(o.getY()),
                                 o.getReduction() == "max" ? ", LF_MAX" : ", LF_SUM", o.getComm()));
      })
      .Case([&](AllReduceOp o) {
        w.line("  " + collective("all_reduce", o.getWhat(), o.getX(), o.getY(), countOf(o.getX()),
                                 o.getReduction() == "max" ? ", LF_MAX" : ", LF_SUM", o.getComm()));
      })
      .Case([&](AllToAllOp o) {
        int64_t n = sizeOf(findMesh(w.from), findComm(w.from, o.getComm()).getAxes());
        w.line("  " +
               collective("all_to_all", o.getWhat(), o.getX(), o.getY(), countOf(o.getX()) / n, "", o.getComm()));
      })
      .Case([&](SendOp o) {
        w.line("  lf_send(r, " + literal(o.getWhat()) + ", " + name(o.getX()) + ", " + Twine(countOf(o.getX())) + ", " +
               dtypeName(cast<BufferType>(o.getX().getType()).getElement()) + ", " + Twine(o.getPp()) + ", " + Twine(o.getTag()) + ");");
      })
      .Case([&](RecvOp o) {
        w.line("  " + receive("recv", o.getWhat(), o.getY(), o.getPp(), o.getTag()));
      })
      .Case([&](PostRecvOp o) {
        w.line("  " + receive("post_recv", o.getWhat(), o.getY(), o.getPp(), o.getTag()));
      })
      .Case([&](WaitRecvOp o) {
        w.line("  " + receive("wait_recv", o.getWhat(), o.getY(), o.getPp(), o.getTag()));
      })
      .Case([&](LoadBatchOp o) {
        auto orNull = [&](Value v) { return v ? name(v) : std::string("nullptr"); };
        if (o.getShift())
          return w.line("  lf_load_shifted(r, a.micro_batch, " + Twine(*o.getShift()) + ", " + orNull(o.getIds()) +
                        ", " + orNull(o.getLabels()) + ");");
        w.line("  lf_load_batch(r, " + Twine(o.getIds() || o.getLabels() ? "a.micro_batch" : "0") + ", " +
               orNull(o.getIds()) + ", " + orNull(o.getLabels()) + ", " + orNull(o.getPositions()) + ");");
      })
      .Case([&](BeginStepOp) { w.line("  lf_begin_step(r);"); })
      .Case([&](FinishGradientsOp) { w.line("  lf_finish_gradients(r);"); })
      .Case([&](AdamWOp o) {
        w.line("  lf_adamw(r, " + literal(o.getWhat()) + ", " + Twine(o.getOffset()) + ", " + Twine(o.getCount()) +
               ", " + Twine(int(o.getDecay())) + ");");
      })
      .Case([&](EndStepOp) { w.line("  lf_end_step(r);"); })
      .Default([](Operation *) { llvm_unreachable("lfrt has no other op in functions"); });
}

void FunctionWriter::run() {
  w.comment(func.getTitle());
  if (func.isBody()) {
    bodyHeader();
  } else {
    actionHeader();
    bool bundle = false, work = false;
    for (Operation &op : func.getBody().front()) {
      if (auto slot = dyn_cast<SlotOp>(op); slot && !slot.getResult().use_empty()) {
        bundle |= slot.getArena() == "bundle";
        work |= slot.getArena() == "workspace";
      }
      if (auto call = dyn_cast<CallOp>(op)) {
        auto callee = w.from.lookupSymbol<FuncOp>(call.getCallee());
        Signature signature(callee);
        bundle |= signature.bundle;
        work |= signature.work;
        // Forward: inputs and outputs lie in the bundle too.
        for (auto [label, used] : llvm::zip(callee.getNames(), signature.arguments)) {
          StringRef name = cast<StringAttr>(label).getValue();
          bundle |= used && !call.getReverse() &&
                    (name == "input" || (name == "output" && (!call.getOutput() || call.getCount() > 1)));
        }
      }
    }
    if (bundle)
      w.line(Twine("  char *saved = (char *)lf_arena(r, ") + (func.getBundleInWorkspace() ? "LF_WORKSPACE" : "LF_SAVED") +
             ") + a.bundle;");
    if (work)
      w.line("  char *work = (char *)lf_arena(r, LF_WORKSPACE);");
  }
  for (const char *name : {"saved", "work", "bundle", "output", "input"})
    taken.try_emplace(name, 1);
  for (Operation &op : func.getBody().front())
    statement(&op);
  w.line("}");
  w.line();
}

static void emitArrays(Writer &w) {
  w.from.walk([&](LaunchOp op) {
    for (Attribute arg : op.getArgs())
      if (auto array = dyn_cast<DenseF64ArrayAttr>(arg)) {
        std::string contents;
        for (double value : array.asArrayRef())
          contents += (contents.empty() ? "" : ", ") + number(value);
        std::string name = "inv_freq" + (w.arrays.empty() ? std::string() : "_" + std::to_string(w.arrays.size() + 1));
        if (!w.arrays.try_emplace(contents, name).second)
          continue;
        w.line("static const double " + name + "[] = {");
        for (size_t i = 0; i < size_t(array.size()); i += 6) {
          std::string row;
          for (size_t j = i; j < std::min<size_t>(i + 6, array.size()); ++j)
            row.append(j == i ? "" : " ").append(number(array[j])).append(",");
          w.line("    " + row);
        }
        w.line("};");
        w.line();
      }
  });
}

void emitFunctions(Writer &w) {
  bool parameters = false, gradients = false;
  w.from.walk([&](Operation *op) {
    parameters |= isa<ParamOp>(op) && !op->use_empty();
    gradients |= isa<GradientOp>(op) && !op->use_empty();
  });
  for (auto [used, type, name, arena] : {std::tuple(parameters, std::string("real"), "parameter", "LF_PARAMETERS"),
                                         std::tuple(gradients, w.mainName, "gradient", "LF_GRADIENTS")})
    if (used) {
      w.line(Twine("static ") + type + " *" + name + "(lf_rank *r, int32_t place, int32_t layer) {");
      w.line("  const lf_place &p = places[place];");
      w.line(Twine("  return (") + type + " *)lf_arena(r, " + arena +
             ") + p.offset + (p.first < 0 ? 0 : (layer - p.first) * p.stride);");
      w.line("}");
      w.line();
    }
  bool spots = false;
  w.from.walk([&](RunOp run) { spots |= run.getInput() || run.getOutput(); });
  w.comment("A byte of an arena.");
  w.line("struct Spot {");
  w.line("  lf_arena_kind arena;");
  w.line("  int64_t offset;");
  w.line("};");
  if (spots)
    w.line("static char *spot(lf_rank *r, Spot s) { return (char *)lf_arena(r, s.arena) + s.offset; }");
  w.line();
  w.comment("One line of a rank's program: what runs, for which micro-batch, where its saved activations begin, what "
            "it reads and");
  w.comment("writes.");
  w.line("struct Action {");
  w.line("  const char *name;");
  w.line("  void (*run)(lf_rank *, const Action &);");
  w.line("  int32_t micro_batch;");
  w.line("  int64_t bundle;");
  w.line("  Spot input, output;");
  w.line("};");
  w.line();
  emitArrays(w);
  for (FuncOp func : w.from.getOps<FuncOp>())
    FunctionWriter(w, func).run();
}

} // namespace mlir::lfrt
