//===- ReadTraffic.cpp - The bytes that each rank sends ----------*- C++ -*-===//
//
// See ReadTraffic.h. Counts are those that lf-emit-cpp passes to the calls of runtime.h.
//
//===----------------------------------------------------------------------===//
#include "lf/Analysis/ReadTraffic.h"
#include "lf/Dialect/Lfrt.h"
#include "lf/sent_bytes.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;
using namespace mlir::lfrt;

namespace {

using Sent = std::vector<::lf::Traffic>;

struct Reader {
  ModuleOp module;
  MeshOp mesh = findMesh(module);
  int64_t world = llvm::product_of(mesh.getSizes());
  int64_t depths = 0;
  std::map<std::string, Sent> functions{};

  void add(Sent &sent, StringRef axis, StringRef kind, int64_t bytes) {
    ::lf::addTraffic(sent, {axis.str(), kind.str(), 1, bytes});
  }
  void addSum(Sent &sent, StringRef axis, int64_t n, int64_t count, int64_t size) {
    if (n > 1)
      add(sent, axis, "all_reduce", ::lf::all_reduce_bytes(n, count, size));
  }

  void add(Sent &sent, Operation &op) {
    auto size = [](Value v) { return int64_t(cast<BufferType>(v.getType()).getElement().getIntOrFloatBitWidth() / 8); };
    auto count = [](Value v) { return cast<BufferType>(v.getType()).getCount(); };
    auto ranks = [&](StringRef comm) { return sizeOf(mesh, findComm(module, comm).getAxes()); };
    auto parts = [&](StringRef comm, StringRef kind, int64_t elements, int64_t bytes) {
      if (int64_t n = ranks(comm); n > 1)
        add(sent, comm, kind, ::lf::parts_bytes(n, elements, bytes));
    };
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](AllGatherOp o) { parts(o.getComm(), "all_gather", count(o.getX()), size(o.getX())); })
        .Case([&](ReduceScatterOp o) { parts(o.getComm(), "reduce_scatter", count(o.getY()), size(o.getY())); })
        .Case([&](AllToAllOp o) { parts(o.getComm(), "all_to_all", count(o.getX()) / ranks(o.getComm()), size(o.getX())); })
        .Case([&](AllReduceOp o) { addSum(sent, o.getComm(), ranks(o.getComm()), count(o.getX()), size(o.getX())); })
        .Case([&](SendOp o) { add(sent, "pp", "send", count(o.getX()) * size(o.getX())); })
        .Case([&](FinishGradientsOp) {
          addSum(sent, "world", world, ::lf::sums_of_step, sizeof(double));
          if (depths > 0)
            addSum(sent, "world", world, ::lf::sums_of_depth * depths, sizeof(double));
        })
        .Case([&](CallOp o) { add(sent, of(o.getCallee()), o.getCount()); });
  }

  static void add(Sent &sent, const Sent &list, int64_t times) {
    for (::lf::Traffic entry : list) {
      entry.messages *= times;
      entry.bytes *= times;
      ::lf::addTraffic(sent, entry);
    }
  }

  /// One call of a body or an action; nothing where there is no such function.
  const Sent &of(StringRef function) {
    if (auto known = functions.find(function.str()); known != functions.end())
      return known->second;
    Sent sent;
    if (auto func = module.lookupSymbol<FuncOp>(function))
      for (Operation &op : func.getBody().front())
        add(sent, op);
    return functions[function.str()] = std::move(sent);
  }
};

} // namespace

void mlir::lf::readTraffic(ModuleOp lowered, ::lf::PlanReport &report) {
  Reader reader{lowered};
  for (ModelOp model : lowered.getOps<ModelOp>())
    reader.depths = model.getMtpDepths();
  for (::lf::LayerProfile &profile : report.profiles) {
    profile.forward = reader.of(profile.owner + ".fwd");
    profile.backward = reader.of(profile.owner + ".bwd");
    profile.weight = reader.of(profile.owner + ".wgrad");
  }
  for (ProgramOp program : lowered.getOps<ProgramOp>()) {
    std::vector<::lf::Traffic> &sent = report.ranks.at(static_cast<size_t>(program.getPp())).traffic;
    sent.clear();
    for (RunOp row : program.getBody().front().getOps<RunOp>())
      Reader::add(sent, reader.of(row.getCallee()), 1);
  }
}
