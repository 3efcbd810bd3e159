//===- AnalyzePlan.cpp - What the IR says a plan costs -----------*- C++ -*-===//
//
// Profiles of the bodies, multiplied by how often the stages and programs run them.
//
//===----------------------------------------------------------------------===//
#include "lf/Analysis/AnalyzePlan.h"
#include "Profiles.h"
#include "lf/Schedule/BalancedSplit.h"
#include "lf/Schedule/LayoutString.h"
#include <map>
#include <set>

using namespace mlir;
using namespace mlir::lf;

double mlir::lf::flopsPerToken(ModuleOp training, int64_t tokensOfMicroBatch) {
  double total = 0;
  auto add = [&](StringRef owner, int64_t times) {
    for (StringRef pass : {".fwd", ".bwd"})
      if (auto function = training.lookupSymbol<func::FuncOp>((owner + pass).str()))
        total += static_cast<double>(times) * static_cast<double>(costOf(function).flops);
  };
  for (ChainOp chain : training.getOps<ChainOp>()) {
    add(chain.getEmbed(), 1);
    for (auto [layer, count] : llvm::zip(chain.getLayers().getAsRange<FlatSymbolRefAttr>(), chain.getCounts()))
      add(layer.getValue(), count);
    for (std::optional<StringRef> body : {chain.getFinal(), chain.getMtp()})
      if (body)
        add(*body, 1);
    add(chain.getHead(), 1);
  }
  return total / static_cast<double>(tokensOfMicroBatch);
}

std::string mlir::lf::balancedLayout(ModuleOp partitioned, int64_t pp, int64_t chunks, double flopsPerByte) {
  auto work = [&](StringRef owner) {
    double total = 0;
    for (StringRef pass : {".fwd", ".bwd"})
      if (auto function = partitioned.lookupSymbol<func::FuncOp>((owner + pass).str()))
        function.walk([&](CostInterface op) {
          total += std::max(static_cast<double>(op.getFlops()), static_cast<double>(op.getBytes()) * flopsPerByte);
        });
    return total;
  };
  std::vector<::lf::ChainItem> chain;
  for (ChainOp op : partitioned.getOps<ChainOp>()) {
    chain.push_back({'E', work(op.getEmbed())});
    for (auto [layer, count] : llvm::zip(op.getLayers().getAsRange<FlatSymbolRefAttr>(), op.getCounts()))
      chain.insert(chain.end(), static_cast<size_t>(count), {'t', work(layer.getValue())});
    if (op.getFinal())
      chain.back().cost += work(*op.getFinal());
    if (int64_t depths = op.getDepths(); op.getMtp() && depths > 0) // @mtp has all of them
      chain.insert(chain.end(), static_cast<size_t>(depths), {'m', work(*op.getMtp()) / static_cast<double>(depths)});
    chain.push_back({'L', work(op.getHead())});
  }
  return ::lf::printLayout(::lf::balancedSplit(chain, pp * chunks, chunks));
}

static ::lf::Pass passOf(RunOp run) {
  return run.getPass() == "forward" ? ::lf::Pass::F : run.getPass() == "backward" ? ::lf::Pass::B : ::lf::Pass::W;
}

namespace {

struct Analyzer {
  ModuleOp module;
  ::lf::PlanReport &report;
  MeshOp mesh = MeshOp::find(module);

  std::map<std::string, ::lf::LayerProfile> profiles{};
  std::map<std::string, int64_t> stageOfSymbol{};
  /// (owner, name) -> layers with it, of each pipeline rank; second: a copy of a parameter that another rank owns.
  using Owned = std::map<std::pair<std::string, std::string>, std::pair<int64_t, bool>>;
  std::vector<Owned> owned{};

  const ::lf::LayerProfile &profile(StringRef owner) {
    auto [it, fresh] = profiles.try_emplace(owner.str());
    if (fresh) {
      it->second = profileOf(module, mesh, owner);
      report.profiles.push_back(it->second);
    }
    return it->second;
  }

  /// Calls f(owner, times, first layer or -1) for each run of bodies of a stage, in order.
  void forEachRun(StageOp stage, llvm::function_ref<void(StringRef, int64_t, int64_t)> f) {
    if (stage.getEmbed())
      f("embed", 1, -1);
    int64_t first = stage.getFirst();
    for (auto [layer, count] : llvm::zip(stage.getLayers().getAsRange<FlatSymbolRefAttr>(), stage.getCounts())) {
      f(layer.getValue(), count, first);
      first += count;
    }
    if (ArrayAttr tail = stage.getTailAttr())
      for (auto body : tail.getAsRange<FlatSymbolRefAttr>())
        f(body.getValue(), 1, -1);
    if (stage.getHead())
      f("head", 1, -1);
  }

  void stages();
  void parameters();
  void programs();
};

void Analyzer::stages() {
  for (StageOp stage : module.getOps<StageOp>()) {
    ::lf::StageReport s;
    s.stage = static_cast<int64_t>(report.stages.size());
    s.pp = stage.getPp();
    s.chunk = stage.getChunk();
    stageOfSymbol[stage.getSymName().str()] = s.stage;
    forEachRun(stage, [&](StringRef owner, int64_t times, int64_t first) {
      const ::lf::LayerProfile &p = profile(owner);
      if (owner == "mtp") // one body has all depths
        s.items.insert(s.items.end(), static_cast<size_t>(report.model.mtpDepths), "m");
      else if (owner != "final")
        s.items.insert(s.items.end(), static_cast<size_t>(times), first >= 0 ? "t" : owner == "embed" ? "E" : "L");
      for (int64_t layer = first; first >= 0 && layer < first + times; ++layer)
        s.layers.push_back(layer);
      s.parameters += times * p.parameters;
      s.forwardFlops += times * p.forwardFlops;
      s.backwardFlops += times * p.backwardFlops;
      s.weightFlops += times * p.weightFlops;
    });
    report.stages.push_back(std::move(s));
  }
}

/// Which parameters lie on which pipeline rank. A parameter of another owner that a body uses (the tied embedding) is a
/// copy unless its owner is on the same rank.
void Analyzer::parameters() {
  owned.resize(report.ranks.size());
  std::map<std::string, std::set<std::pair<std::string, std::string>>> uses;
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](ParamOp param) {
      std::string owner = ownerOf(function).str();
      uses[owner].emplace(param.getOwner().value_or(owner).str(), param.getName().str());
    });
  for (bool copies : {false, true})
    for (StageOp stage : module.getOps<StageOp>())
      forEachRun(stage, [&](StringRef owner, int64_t times, int64_t) {
        for (const auto &parameter : uses[owner.str()]) {
          Owned &here = owned[stage.getPp()];
          if ((parameter.first != owner) != copies)
            continue;
          if (!copies)
            here[parameter].first += times;
          else
            here.try_emplace(parameter, 1, true);
        }
      });
  for (::lf::PipelineRankReport &rank : report.ranks)
    for (const auto &[parameter, layers] : owned[rank.pp])
      rank.parameters += layers.first * localElements(DeclareOp::find(module, parameter.first, parameter.second), mesh);
}

void Analyzer::programs() {
  int64_t pp = report.plan.pp;
  report.problem.ranks = pp;
  report.problem.chunks = pp ? static_cast<int64_t>(report.stages.size()) / pp : 1;
  report.problem.microBatches = report.plan.microBatches();
  bool vee = report.problem.chunks == 2 && pp > 1 && report.stages[static_cast<size_t>(pp)].pp != 0;
  report.problem.placement = vee ? ::lf::PlacementKind::vee : ::lf::PlacementKind::roundRobin;
  module.walk([&](RunOp run) { report.problem.splitWeightGradient |= passOf(run) == ::lf::Pass::W; });
  ::lf::Pass last = report.problem.splitWeightGradient ? ::lf::Pass::W : ::lf::Pass::B;
  module.walk([&](PostRecvOp) { report.receives = ::lf::Receives::ahead; });
  report.programs.resize(report.ranks.size());
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    ::lf::PipelineRankReport &rank = report.ranks[program.getPp()];
    int64_t alive = 0;
    for (Operation &line : program.getBody().front())
      if (auto run = dyn_cast<RunOp>(line)) {
        ::lf::Pass pass = passOf(run);
        const ::lf::StageReport &stage = report.stages[stageOfSymbol.at(run.getStage().str())];
        report.programs[program.getPp()].push_back(
            {pass, static_cast<int64_t>(run.getMicroBatch()), stage.chunk});
        alive += pass == ::lf::Pass::F ? 1 : pass == last ? -1 : 0;
        rank.inFlight = std::max(rank.inFlight, alive);
      }
  }
}

} // namespace

::lf::PlanReport mlir::lf::analyzePrograms(ModuleOp scheduled, const ::lf::ModelConfig &model,
                                           const ::lf::ParallelPlan &plan) {
  ::lf::PlanReport report;
  report.model = model;
  report.plan = plan;
  int64_t ranks = plan.world() / plan.pp;
  for (int64_t pp = 0; pp < plan.pp; ++pp) {
    report.ranks.emplace_back();
    report.ranks.back().pp = pp;
    report.ranks.back().firstRank = pp * ranks;
    report.ranks.back().ranks = ranks;
  }
  Analyzer analyzer{scheduled, report};
  analyzer.stages();
  analyzer.parameters();
  analyzer.programs();
  return report;
}
