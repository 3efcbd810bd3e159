//===- MiniPartition.h - Which collectives a program gets, for tests ------===//
//
// Rules R1 to R4 on the light graph. Nothing is rewritten: each conversion step is noted with the value it moves.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "MiniModel.h"

namespace lf::mini {

struct Moved {
  bool backward;
  std::string tag, value;
  Step step;
  int64_t sent; ///< elements that one rank sends
};

class Compiled {
public:
  /// `off`: rules left out; those of propagate(), and R1, R2, R3, B3.
  Compiled(const Config &, const Plan &, std::set<std::string> off = {},
           const std::map<std::string, Layout> &seeds = {});

  Mesh mesh;
  Program program;
  Propagated lay;
  std::vector<Moved> moved;
  std::map<int, std::vector<Layout>> saved; ///< of each value that crosses to the backward

  /// "fwd 2AG 2RS | bwd 4AG 2RS" of one part of the model.
  std::string counts(const std::string &tag) const;
  /// Axes over which the gradient of a parameter reaches sync_grads partial: "dp tp", in alphabetical order.
  std::string partial(const std::string &param) const;
  int64_t sent(const std::string &tag, bool backward) const;
  /// The collectives of one part in program order: "all_gather n1.0".
  std::vector<std::string> trace(const std::string &tag, bool backward) const;

private:
  struct Copies {
    Layout here;
    std::set<Layout> all;
  };
  using Env = std::map<int, Copies>;
  const Plan plan;
  std::set<std::string> off;
  Env forward, backward;
  Env *env = nullptr;
  std::string now;

  Layout storage(int param) const;
  void bind(int v, const Layout &);
  void convert(int v, const Layout &src, const Layout &dst);
  void use(int v, const Layout &dst);
  void produce(int v, const Layout &made);
  void run(int op);
  void start();
  void partition();
};

} // namespace lf::mini
