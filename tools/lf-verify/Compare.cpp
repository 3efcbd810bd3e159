//===- Compare.cpp - Are two runs equal? ------------------------------------===//
//
// See Compare.h.
//
//===----------------------------------------------------------------------===//
#include "Compare.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace lf {

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Sorting key: embeddings, then layer numbers, then what follows the layers.
static int64_t layerOf(const std::string &name) {
  for (const char *mark : {"layers.", "h."})
    if (size_t at = name.find(mark); at != std::string::npos && (at == 0 || name[at - 1] == '.'))
      return std::strtoll(name.c_str() + at + std::char_traits<char>::length(mark), nullptr, 10);
  bool first = name.find("embed") != std::string::npos || name.find("wte") != std::string::npos ||
               name.find("wpe") != std::string::npos;
  return first ? -1 : std::numeric_limits<int64_t>::max();
}

static double distance(const std::vector<double> &a, const std::vector<double> &b) {
  if (a.size() != b.size())
    return infinity;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::isfinite(sum) ? std::sqrt(sum) : infinity;
}

/// `depths` numbers a step; 0: one that has no depth.
static void numbers(const char *what, const std::vector<double> &a, const std::vector<double> &b, size_t depths,
                    std::vector<Difference> &out) {
  const size_t each = std::max<size_t>(depths, 1);
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    Difference d{what, "step " + std::to_string(i / each + 1), 0, infinity, infinity};
    if (depths > 0)
      d.name += ", depth " + std::to_string(i % each);
    if (i < a.size() && i < b.size()) {
      d.size = std::abs(b[i]);
      d.difference = std::isfinite(a[i] - b[i]) ? std::abs(a[i] - b[i]) : infinity;
      d.relative = d.difference == 0 ? 0 : d.difference / d.size;
    }
    out.push_back(d);
  }
}

static void tensors(const char *what, const Tensors &a, const Tensors &b, std::vector<Difference> &out) {
  double largest = 0;
  std::vector<std::string> names;
  for (const auto &[name, values] : b) {
    largest = std::max(largest, norm(values));
    names.push_back(name);
  }
  for (const auto &[name, values] : a)
    if (!b.contains(name))
      names.push_back(name);
  std::sort(names.begin(), names.end(), [](const std::string &x, const std::string &y) {
    return std::pair(layerOf(x), x) < std::pair(layerOf(y), y);
  });
  for (const std::string &name : names) {
    Difference d{what, name, 0, infinity, infinity};
    if (a.contains(name) && b.contains(name)) {
      d.size = norm(b.at(name));
      d.difference = distance(a.at(name), b.at(name));
      d.relative = d.difference == 0 ? 0 : d.difference / std::max(d.size, 1e-3 * largest);
    }
    out.push_back(d);
  }
}

std::vector<Difference> compareRuns(const RunResult &plan, const RunResult &single) {
  std::vector<Difference> out;
  numbers("loss", plan.loss, single.loss, 0, out);
  numbers("mtp loss", plan.mtpLoss, single.mtpLoss, single.mtpLoss.size() / std::max<size_t>(single.loss.size(), 1),
          out);
  numbers("grad norm", plan.gradNorm, single.gradNorm, 0, out);
  tensors("gradient", plan.gradients, single.gradients, out);
  tensors("weight", plan.weights, single.weights, out);
  return out;
}

} // namespace lf
