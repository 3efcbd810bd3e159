//===- ProposalTest.cpp - What a refusal proposes is accepted ---------------===//
//
// Random pipelines, most of them wrong. Whatever layout or number a message proposes is put in place of what was
// refused, every other flag staying as it is, and the plan must then be accepted.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "lf/Plan/PlanJson.h"
#include "lf/Schedule/Algorithms.h"
#include "lf/Schedule/StageLayout.h"

#include <random>
#include <regex>

using namespace lf;

namespace {

using Flags = std::map<std::string, std::string>; ///< by long name; a toggle has no value

class ProposalTest : public CompileTest {
protected:
  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  bool sometimes(int64_t n) { return below(n) == 0; }

  /// Nearly a layout of so many layers and depths.
  std::string drawLayout(int64_t layers, int64_t depths, int64_t stages) {
    std::string text = std::string(layers, 't') + std::string(depths, 'm');
    for (int64_t bar = 1; bar < stages; ++bar)
      text.insert(text.begin() + below(static_cast<int64_t>(text.size()) + 1), '|');
    text = "E" + text + "L";
    for (int64_t edits = below(4); edits > 0; --edits) {
      auto at = text.begin() + below(static_cast<int64_t>(text.size()));
      switch (below(4)) {
      case 0:
        text.insert(sometimes(2) ? text.end() : text.begin(), '|');
        break;
      case 1:
        if (text.size() > 1)
          text.erase(at);
        break;
      case 2:
        text.insert(at, "EttmL||"[below(7)]);
        break;
      default:
        std::swap(*at, text[below(static_cast<int64_t>(text.size()))]);
      }
    }
    return text;
  }

  Flags draw() {
    const int64_t layers = 1 + below(10), pp = 1 + below(5), depths = sometimes(3) ? 1 + below(2) : 0, chunks = 1 + below(3);
    json["num_hidden_layers"] = layers;
    Flags flags = {{"pipeline-model-parallel-size", std::to_string(pp)},
                   {"global-batch-size", std::to_string(1 + below(12))}};
    if (depths > 0)
      flags["mtp-num-layers"] = std::to_string(depths);
    static const char *schedules[] = {"gpipe", "1f1b", "1f1b", "interleaved", "zb-h1", "zb-v"};
    if (!sometimes(4))
      flags["pipeline-schedule"] = schedules[below(6)];
    if (sometimes(5))
      flags["microbatch-group-size-per-virtual-pipeline-stage"] = std::to_string(1 + below(12));
    if (sometimes(4))
      flags["no-overlap-p2p-communication"] = "";
    switch (below(4)) {
    case 0:
      flags["num-virtual-stages-per-pipeline-rank"] = std::to_string(chunks);
      break;
    case 1:
      flags["num-layers-per-virtual-pipeline-stage"] = std::to_string(1 + below(3));
      break;
    case 2:
      flags["pipeline-model-parallel-layout"] = drawLayout(layers, depths, pp * chunks);
      return flags;
    }
    for (const char *flag : {"account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split"})
      if (sometimes(5))
        flags[flag] = "";
    for (const char *flag : {"decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers"})
      if (sometimes(6))
        flags[flag] = std::to_string(1 + below(6));
    return flags;
  }

  static std::string line(const Flags &flags) {
    std::string out;
    for (const auto &[name, value] : flags)
      out += " --" + name + (value.empty() ? "" : " " + value);
    return out;
  }

  /// Message and notes; empty: accepted, and its layout can be had.
  std::string message(const Flags &flags) {
    try {
      ParallelPlan p = plan(line(flags));
      LayoutRequest request;
      request.pp = p.pp;
      request.layers = model.layers;
      request.mtp = model.mtpDepths;
      request.chunks = p.vpp;
      request.placement = placementOf(parseSchedule(p.schedule));
      resolveLayout(layoutText(p, model), request);
      buildSchedule(parseSchedule(p.schedule), {p.pp, p.vpp, p.microBatches(), p.groupSize, false, p.overlapP2p});
      return "";
    } catch (const Error &e) {
      EXPECT_EQ(e.code, Exit::usage);
      std::string out = e.what();
      for (const std::string &note : e.notes)
        out += "\n" + note;
      return out;
    }
  }

  std::mt19937_64 random{7};
};

TEST_F(ProposalTest, IsAccepted) {
  const std::regex nearest("nearest legal layout is \"([^\"]*)\""), layout("--pipeline-model-parallel-layout \"([^\"]*)\""),
      use("^\"--(microbatch-group-size|decoder)([a-z-]*)\": .*; use ([0-9]+)"),
      pass("or pass --(microbatch[a-z-]*) ([0-9]+)"), batch("make it ([0-9]+) or ([0-9]+) micro-batches");
  int layouts = 0, numbers = 0, refused = 0;
  for (int i = 0; i < 5'000; ++i) {
    const Flags flags = draw();
    const std::string got = message(flags);
    if (got.empty())
      continue;
    ++refused;
    auto expectAccepted = [&](const Flags &mended) {
      std::string again = message(mended);
      ASSERT_EQ(again, "") << json["num_hidden_layers"] << " layers," << line(flags) << "\n  " << got << "\n  then"
                           << line(mended);
    };
    std::smatch m;
    if (std::regex_search(got, m, nearest) || std::regex_search(got, m, layout)) {
      Flags mended = flags;
      for (const char *flag : {"num-virtual-stages-per-pipeline-rank", "num-layers-per-virtual-pipeline-stage",
                               "account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split",
                               "decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers"})
        mended.erase(flag);
      mended["pipeline-model-parallel-layout"] = m[1];
      ASSERT_NO_FATAL_FAILURE(expectAccepted(mended));
      ++layouts;
    }
    if (std::regex_search(got, m, use)) {
      Flags mended = flags;
      mended[m[1].str() + m[2].str()] = m[3];
      if (m[1] == "decoder")
        ASSERT_NO_FATAL_FAILURE(expectAccepted(mended));
      else // the layers may still not divide
        EXPECT_EQ(message(mended).find("micro-batch"), std::string::npos) << got << message(mended);
      ++numbers;
    }
    // Two mends of which either is enough to run the schedule.
    if (std::regex_search(got, m, pass)) {
      Flags mended = flags;
      mended[m[1]] = m[2];
      EXPECT_EQ(message(mended).find("micro-batch"), std::string::npos) << got << message(mended);
      ASSERT_TRUE(std::regex_search(got, m, batch)) << got;
      for (int which : {1, 2}) {
        mended = flags;
        mended["global-batch-size"] = m[which];
        EXPECT_EQ(message(mended).find("micro-batch"), std::string::npos) << got << message(mended);
      }
      ++numbers;
    }
  }
  EXPECT_GT(refused, 1'500);
  EXPECT_GT(layouts, 500) << "else little is tested";
  EXPECT_GT(numbers, 50);
}

} // namespace
