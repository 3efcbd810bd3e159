//===- Judge.cpp - Is a random plan equal to one rank? ----------------------===//
//
// See Judge.h.
//
//===----------------------------------------------------------------------===//
#include "Judge.h"
#include "lf/Support/Error.h"
#include "lf/Support/Json.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

namespace lf::test {

RunSettings Judge::settings(const RandomPlan &p) {
  RunSettings s;
  s.tokens = folder + "/tokens.bin";
  std::ofstream file(s.tokens, std::ios::binary);
  std::mt19937 random(static_cast<uint32_t>(groupOf(p.seed)));
  for (int64_t i = 0; i < s.steps * p.plan.globalBatch * p.plan.seqLength + 1; ++i) {
    auto token = static_cast<uint16_t>(random() % static_cast<uint32_t>(p.model.vocab));
    file.put(static_cast<char>(token & 255)).put(static_cast<char>(token >> 8));
  }
  return s;
}

const RunResult &Judge::single(const RandomPlan &p) {
  std::string key = p.config + std::to_string(p.single.microBatch) + " " + std::to_string(p.single.globalBatch) + " " +
                    std::to_string(p.single.seqLength) + " " + std::to_string(groupOf(p.seed));
  if (key != cachedFor) {
    cachedFor.clear();
    cached = compileAndRun(p.model, p.single, settings(p), folder + "/single", tool);
    cachedFor = key;
  }
  return cached;
}

/// Of every step in folder/metrics.jsonl against folder/plan.json; empty when all ranks sent the bytes planned.
static std::string wrongTraffic(const std::string &folder) {
  using Bytes = std::map<std::string, int64_t>; // by axis and kind, of all ranks; what is not sent is left out
  Bytes planned;
  std::ifstream file(folder + "/plan.json");
  const Json plan = Json::parse(file);
  for (const Json &row : plan["traffic"])
    if (auto bytes = row["bytes"].get<int64_t>())
      planned[row["axis"].get<std::string>() + " " + row["kind"].get<std::string>()] += bytes;
  auto text = [](const Bytes &all) {
    std::string out;
    for (const auto &[what, bytes] : all)
      out += (out.empty() ? "" : ", ") + what + " " + std::to_string(bytes);
    return out.empty() ? "none" : out;
  };
  std::ifstream lines(folder + "/metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    Json step = Json::parse(line);
    Bytes sent;
    for (const auto &[axis, kinds] : step["comm_bytes"].items())
      for (const auto &[kind, bytes] : kinds.items())
        if (bytes != 0)
          sent[axis + " " + kind] = bytes.get<int64_t>();
    if (sent != planned)
      return "step " + step["step"].dump() + ": expected the planned bytes of all ranks " + text(planned) + ", got " + text(sent);
  }
  return "";
}

std::string Judge::fault(const RandomPlan &p) try {
  const RunResult &want = single(p);
  RunSettings s = settings(p);
  if (p.plan.microBatches() < 2)
    return "expected 2 or more micro-batches, got 1";
  double least = *std::min_element(want.gradNorm.begin(), want.gradNorm.end());
  if (!(least > s.clip))
    return "expected gradient norms above the clip " + std::to_string(s.clip) + ", got " + std::to_string(least);

  std::vector<Difference> all = compareRuns(compileAndRun(p.model, p.plan, s, folder + "/plan", tool), want), wrong;
  if (std::string traffic = wrongTraffic(folder + "/plan"); !traffic.empty())
    return traffic;
  std::copy_if(all.begin(), all.end(), std::back_inserter(wrong),
               [](const Difference &d) { return !(d.relative <= tolerance); });
  if (wrong.empty())
    return "";
  std::string text = std::to_string(wrong.size()) + " of " + std::to_string(all.size()) + " comparisons differ";
  for (size_t i = 0; i < std::min<size_t>(wrong.size(), 6); ++i) {
    char line[200];
    std::snprintf(line, sizeof line, "\n    %-9s %-60s norm %.3e, relative %.3e", wrong[i].what.c_str(),
                  wrong[i].name.c_str(), wrong[i].size, wrong[i].relative);
    text += line;
  }
  return text;
} catch (const Error &error) {
  std::string text = "exit " + std::to_string(static_cast<int>(error.code)) + ": " + error.what();
  for (const std::string &note : error.notes)
    text += "\n    " + note;
  return text;
}

} // namespace lf::test
