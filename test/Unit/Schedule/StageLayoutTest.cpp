//===- StageLayoutTest.cpp - Layouts against models and ranks -------------===//
//
// Every case of layout_cases.json by its member "lf", then messages and proposals.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/StageLayout.h"

#include "lf/Support/Error.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

using namespace lf;
using nlohmann::json;

namespace {

struct Refusal {
  std::string message;
  std::vector<std::string> notes;
};

Refusal refusal(const std::string &text, const LayoutRequest &request) {
  try {
    resolveLayout(text, request);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::usage);
    return {error.what(), error.notes};
  }
  return {"accepted", {}};
}

LayoutRequest requestOf(int64_t pp, int64_t layers, int64_t mtp = 0) {
  LayoutRequest request;
  request.pp = pp;
  request.layers = layers;
  request.mtp = mtp;
  request.place = "--layout";
  return request;
}

/// What our message says where the case says `because`; empty: the test does not know it.
std::string wording(const std::string &because) {
  const std::string syntax = "syntax: ";
  if (because.starts_with(syntax))
    return because.substr(syntax.size());
  static const std::map<std::string, std::string> words = {
      {"count of m is not mtp_num_layers", "m, one for each of the model's MTP layers"},
      {"count of t is not num_layers", "t, one for each of the model's decoder layers"},
      {"virtual stages without overlapped p2p need pp > 2",
       "of at least 3 for 2 stages on a rank without overlapped p2p"},
      {"E must begin the first stage and L end the last", "stage, got "},
      {"exactly one E and one L", "expected exactly one "},
      {"m in two stages", "expected all m in one stage"},
      {"t after m", "expected every t before the first m"},
      {"no layers", "expected a model with at least 1 decoder layer, got 0"}};
  auto found = words.find(because);
  return found == words.end() ? "" : found->second;
}

} // namespace

TEST(StageLayout, sharedCases) {
  std::ifstream file(std::string(LF_CASES_DIR) + "/layout_cases.json");
  json cases = json::parse(file).at("cases");
  ASSERT_GT(cases.size(), 40u);
  for (const json &c : cases) {
    SCOPED_TRACE(c.at("id").get<std::string>() + " " + c.at("layout").get<std::string>());
    LayoutRequest request =
        requestOf(c.at("pp"), c.at("num_layers"), c.at("mtp_layers").is_null() ? 0 : c.at("mtp_layers").get<int64_t>());
    request.overlapP2p = c.at("overlap_p2p");
    const json &ours = c.at("lf");
    if (!ours.at("accept")) {
      std::string expected = wording(ours.at("because"));
      ASSERT_NE(expected, "") << ours.at("because");
      Refusal got = refusal(c.at("layout"), request);
      EXPECT_NE(got.message.find(expected), std::string::npos) << got.message;
      continue;
    }
    StageLayout layout = resolveLayout(c.at("layout").get<std::string>(), request);
    ASSERT_EQ(static_cast<int64_t>(ours.at("stages").size()), request.pp);
    for (const PipelineStage &stage : layout.stages) {
      std::string rank = "pp" + std::to_string(stage.pp);
      EXPECT_EQ(stage.items, ours.at("stages").at(rank).at(stage.chunk).get<std::string>());
      if (c.contains("decoder_layer_ids")) { // not where the reference refuses and we do not
        EXPECT_EQ(json(stage.layers), c.at("decoder_layer_ids").at(rank).at(stage.chunk));
      }
      EXPECT_EQ(static_cast<int64_t>(ours.at("stages").at(rank).size()), layout.placement.chunks);
    }
  }
}

TEST(StageLayout, messageHasBothNumbersAColumnAndAProposal) {
  Refusal got = refusal("Ett|tL", requestOf(2, 4));
  EXPECT_EQ(got.message,
            "--layout, column 5: expected 4 t, one for each of the model's decoder layers (num_hidden_layers), "
            "got 3; 1 missing\n  Ett|tL\n      ^");
  EXPECT_EQ(got.notes, std::vector<std::string>{"the nearest legal layout is \"Ett|ttL\""});
}

TEST(StageLayout, stagesThatDoNotDivideShowTheDivision) {
  Refusal got = refusal("Et*3|(tt|)*29,m|L", requestOf(6, 61, 1));
  EXPECT_EQ(got.message,
            "--layout: expected a number of stages divisible by the pipeline size (--pp), got 32 stages / 6 = 5 "
            "remainder 2; add 4 or remove 2");
  ASSERT_EQ(got.notes.size(), 1u);
}

TEST(StageLayout, proposalsChangeOnlyWhatIsWrong) {
  auto propose = [](const std::string &text, const LayoutRequest &request) {
    return proposeLayout(parseLayout(text).stages, request);
  };
  EXPECT_EQ(propose("Ett|tttt|ttL", requestOf(3, 7)), "Ett|t*3|ttL");  // one t too many: from the largest
  EXPECT_EQ(propose("tEt|ttL", requestOf(2, 4)), "Ett|ttL");           // E to the front
  EXPECT_EQ(propose("Ettt|tttL|", requestOf(3, 6)), "Et*3|t*3|L");     // L to the end
  EXPECT_EQ(propose("Ett|ttm|mL", requestOf(3, 4, 2)), "Ett|tt|mmL");  // m to one stage
  EXPECT_EQ(propose("Ett|tt|m|L", requestOf(4, 5, 1)), "Et*3|tt|m|L"); // m stays alone
  EXPECT_EQ(propose("Ett|tt|ttL", requestOf(2, 6)), "Et|t|tt|ttL");    // 3 stages: 4 rather than 2
  EXPECT_EQ(propose("Ett|tt|tt|ttL", requestOf(1, 8)), "Et*8L");
  EXPECT_EQ(propose("EL", requestOf(1, 0)), "");
}

// One change in place of three: a bar too many at an end is dropped, not moved.
TEST(StageLayout, proposalsDropEmptyEnds) {
  auto propose = [](const std::string &text, const LayoutRequest &request) {
    return proposeLayout(parseLayout(text).stages, request);
  };
  EXPECT_EQ(propose("Et*7|tL|", requestOf(2, 8)), "Et*7|tL");
  EXPECT_EQ(propose("|Ett|ttL", requestOf(2, 4)), "Ett|ttL");
  EXPECT_EQ(propose("||Ett|ttL||", requestOf(2, 4)), "Ett|ttL");
  EXPECT_EQ(propose("|Ett|ttL|", requestOf(2, 5)), "Et*3|ttL"); // and what is wrong besides
  EXPECT_EQ(propose("|Ett|ttL", requestOf(3, 4)), "E|tt|ttL");  // 3 stages are right
  EXPECT_EQ(propose("Ett|tt|m|L|", requestOf(4, 4, 1)), "Ett|tt|m|L");
}

// Nothing is advised that the schedule would refuse.
TEST(StageLayout, adviceKeepsToTheChunksThatRun) {
  auto message = [](int64_t chunks, int64_t fewest, int64_t most) {
    LayoutRequest request = requestOf(2, 6);
    request.chunks = chunks;
    request.fewestChunks = fewest;
    request.mostChunks = most;
    return refusal("Ett|tt|ttL", request).message;
  };
  const std::string odd = "--layout: expected a number of stages divisible by the pipeline size (--pp), got 3 stages / 2 = 1 "
                          "remainder 1; ";
  EXPECT_EQ(message(0, 1, 9), odd + "add 1 or remove 1");
  EXPECT_EQ(message(0, 1, 1), odd + "remove 1");
  EXPECT_EQ(message(0, 2, 9), odd + "add 1");
  EXPECT_EQ(message(2, 2, 2), "--layout: expected 4 stages (2 on each of 2 pipeline ranks, as the schedule asks), got 3");
}

TEST(StageLayout, proposalsKeepToTheChunksThatRun) {
  auto propose = [](const std::string &text, LayoutRequest request, int64_t fewest, int64_t most) {
    request.fewestChunks = fewest;
    request.mostChunks = most;
    return proposeLayout(parseLayout(text).stages, request);
  };
  EXPECT_EQ(propose("Ett|tt|ttL", requestOf(2, 6), 1, 1), "Et*4|ttL");
  EXPECT_EQ(propose("Ett|tt|ttL", requestOf(2, 6), 2, 9), "Et|t|tt|ttL");
  EXPECT_EQ(propose("Et*5|tL|", requestOf(2, 6), 2, 9), "Et*3|tt|t|L");
  EXPECT_EQ(propose("Ett|tt|ttL", requestOf(2, 6), 2, 1), "");
  EXPECT_EQ(propose("Ett|tt|ttL", requestOf(1, 6), 2, 9), "");
}

TEST(StageLayout, chunksOfTheScheduleAreChecked) {
  LayoutRequest request = requestOf(2, 8);
  request.chunks = 2;
  request.placement = PlacementKind::vee;
  Refusal got = refusal("Et*4|t*4L", request);
  EXPECT_NE(got.message.find("expected 4 stages (2 on each of 2 pipeline ranks, as the schedule asks), got 2"),
            std::string::npos);
  EXPECT_EQ(got.notes, std::vector<std::string>{"the nearest legal layout is \"Ett|tt|tt|ttL\""});
  StageLayout layout = resolveLayout("Ett|tt|tt|ttL", request);
  EXPECT_EQ(layout.stages[2].pp, 1); // the V turns on the last rank
  EXPECT_EQ(layout.stages[3].pp, 0);
}

TEST(StageLayout, mtpDepthsAndCanonicalText) {
  StageLayout layout = resolveLayout("E t,t | t t m m L", requestOf(2, 4, 2));
  EXPECT_EQ(layout.text, "Ett|ttmmL");
  EXPECT_EQ(layout.stages[1].mtp, (std::vector<int64_t>{0, 1}));
}

TEST(StageLayout, mtpBeforeTheLastChunkIsRefused) {
  Refusal got = refusal("Ett|ttm||L", requestOf(2, 4, 1));
  EXPECT_NE(got.message.find("expected m in the last chunk of a rank (chunk 1, stages 2 to 3), got stage 1 (chunk 0)"),
            std::string::npos)
      << got.message;
}

TEST(StageLayout, badSizesAreRefused) {
  EXPECT_NE(refusal("EtL", requestOf(0, 1)).message.find("(--pp) of at least 1, got 0"), std::string::npos);
  EXPECT_NE(refusal("EtL", requestOf(-3, 1)).message.find("got -3"), std::string::npos);
  EXPECT_NE(refusal("Ett|ttL", requestOf(1, 4)).message.find("above 1, got 2 stages / 1 rank"), std::string::npos);
  // far too large to repair one by one: refused without a proposal, at once
  EXPECT_TRUE(refusal("E|*999999L", requestOf(1'000'000, 1)).notes.empty());
}
