//===- ParametersTest.cpp - Counts and names of real models -----------------===//
//
// published-configs.json: public models with exact parameter counts. tensor-names.json: names and shapes of the tensors
// that Hugging Face transformers wrote for four tiny models.
//
//===----------------------------------------------------------------------===//
#include "lf/Model/Parameters.h"
#include "lf/Support/Error.h"
#include "lf/Support/Json.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

using namespace lf;

namespace {

Json data(const std::string &name) { return parseJson(readFile(LF_TEST_DATA "/" + name, "test data"), name); }

int64_t product(const std::vector<int64_t> &shape, size_t from, size_t to) {
  return std::accumulate(shape.begin() + from, shape.begin() + to, int64_t{1}, std::multiplies<>());
}

TEST(Parameters, CountsArePublished) {
  int counted = 0;
  for (const Json &entry : data("published-configs.json")) {
    if (!entry["supported"].get<bool>()) {
      EXPECT_THROW(parseModel(entry["config"].dump(), entry["name"]), Error) << entry["name"];
      continue;
    }
    ModelConfig m = parseModel(entry["config"].dump(), entry["name"]);
    EXPECT_EQ(parameterCount(m), entry["parameters"].get<int64_t>()) << entry["name"];
    ++counted;
  }
  EXPECT_EQ(counted, 27);
}

/// Rebuilds the tensors of a file from the table: a fused tensor must be covered exactly once by its parts.
std::map<std::string, std::vector<int64_t>> tensors(const ModelConfig &m) {
  std::map<std::string, std::vector<int64_t>> out;
  std::map<std::string, int64_t> covered;
  auto add = [&](const Parameter &p, const std::string &name) {
    auto rows = static_cast<size_t>(p.rowDims);
    int64_t cols = product(p.shape, rows, p.shape.size());
    std::vector<int64_t> shape = {p.hfCols};
    if (rows > 0)
      shape.insert(p.hfTransposed ? shape.end() : shape.begin(), product(p.shape, 0, rows));
    EXPECT_EQ(covered[name], p.hfCol) << name << ": parts leave a hole or overlap";
    covered[name] += cols;
    if (!out.emplace(name, shape).second) {
      EXPECT_EQ(out[name], shape) << name;
    }
  };
  for (const std::string owner : {"embed", "head"})
    for (const Parameter &p : parametersOf(m, owner))
      add(p, p.hfName);
  for (size_t layer = 0; layer < m.kindOfLayer.size(); ++layer)
    for (const Parameter &p : parametersOf(m, m.kinds[static_cast<size_t>(m.kindOfLayer[layer])].name)) {
      std::string name = p.hfName;
      add(p, name.replace(name.find("%d"), 2, std::to_string(layer)));
    }
  for (const auto &[name, shape] : out)
    EXPECT_EQ(covered[name], shape.size() == 1 || shape[0] != covered[name] ? shape.back() : shape[0]) << name;
  return out;
}

TEST(Parameters, NamesAndShapesAreThoseOfTheFiles) {
  const Json cases = data("tensor-names.json");
  ASSERT_EQ(cases.size(), 4u);
  for (const auto &[name, entry] : cases.items()) {
    std::map<std::string, std::vector<int64_t>> expected;
    for (const auto &[tensor, shape] : entry["tensors"].items())
      expected[tensor] = shape.get<std::vector<int64_t>>();
    EXPECT_EQ(tensors(parseModel(entry["config"].dump(), name)), expected) << name;
  }
}

TEST(Parameters, SplitsNameEachDim) {
  for (const Json &entry : data("published-configs.json")) {
    if (!entry["supported"].get<bool>())
      continue;
    ModelConfig m = parseModel(entry["config"].dump(), entry["name"]);
    std::vector<std::string> owners = {"embed", "head"};
    for (const LayerKind &kind : m.kinds)
      owners.push_back(kind.name);
    for (const std::string &owner : owners)
      for (const Parameter &p : parametersOf(m, owner)) {
        EXPECT_EQ(p.shape.size(), p.split.size()) << p.name;
        EXPECT_EQ(p.owner, owner);
        EXPECT_EQ(p.decay, p.rowDims > 0) << p.name;
        EXPECT_EQ(p.vocabDim >= 0, p.name == "embedding" || p.name == "head") << p.name;
        EXPECT_EQ(p.closedOverRep, p.name[0] == 'k' || p.name[0] == 'v' ? p.name != "k_norm" : false) << p.name;
        EXPECT_EQ(p.hfName.find("%d") != std::string::npos, owner != "embed" && owner != "head") << p.name;
      }
  }
}

TEST(Parameters, InitialStandardDeviations) {
  const Json cases = data("tensor-names.json");
  for (const auto &[name, entry] : cases.items()) {
    ModelConfig m = parseModel(entry["config"].dump(), name);
    for (const Parameter &p : parametersOf(m, "decoder")) {
      bool residual = p.name == "o" || p.name == "down";
      if (p.rowDims > 0) {
        EXPECT_EQ(p.init, Init::normal);
        EXPECT_DOUBLE_EQ(p.initStd, residual ? 0.02 / std::sqrt(8.0) : 0.02) << p.name;
      } else {
        EXPECT_EQ(p.init, p.name.ends_with("norm") ? Init::ones : Init::zeros) << p.name;
      }
    }
  }
}

TEST(Parameters, UnknownOwnerIsRefused) {
  const Json cases = data("tensor-names.json");
  EXPECT_THROW(parametersOf(parseModel(cases["llama"]["config"].dump(), "llama"), "decoder_sliding"), Error);
}

} // namespace
