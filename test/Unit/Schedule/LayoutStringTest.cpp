//===- LayoutStringTest.cpp - Syntax of layout strings --------------------===//
//
// Expansion, diagnostics with carets, limits, canonical printing.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/LayoutString.h"

#include "lf/Support/Error.h"
#include <gtest/gtest.h>

using namespace lf;
using Stages = std::vector<std::string>;

namespace {

std::string refusal(const std::string &text) {
  try {
    parseLayout(text, "--layout");
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::usage);
    return error.what();
  }
  return "accepted";
}

} // namespace

TEST(LayoutString, expandsCountsAndGroups) {
  EXPECT_EQ(parseLayout("Et*3|(tt|)*2,m|L").stages, (Stages{"Ettt", "tt", "tt", "m", "L"}));
  EXPECT_EQ(parseLayout("E|*3L").stages, (Stages{"E", "", "", "L"}));
  EXPECT_EQ(parseLayout("|").stages, (Stages{"", ""}));
}

TEST(LayoutString, groupsNest) {
  EXPECT_EQ(parseLayout("E((t|)*2tt|)*2L").stages, (Stages{"Et", "t", "tt", "t", "t", "tt", "L"}));
  EXPECT_EQ(parseLayout("((((t)*1)*2)*1)*3").stages, Stages{"tttttt"});
}

TEST(LayoutString, commasAndWhiteSpaceMeanNothing) {
  EXPECT_EQ(parseLayout(" E t\n* 3 ,, |\t( t t )\r* 2 L ").stages, (Stages{"Ettt", "ttttL"}));
}

TEST(LayoutString, columnsPointIntoTheSource) {
  EXPECT_EQ(parseLayout("E,(tm)*2|L").columns, (std::vector<int32_t>{0, 3, 4, 3, 4, 9}));
}

TEST(LayoutString, caretStandsUnderTheColumn) {
  EXPECT_EQ(refusal("Et*0tt|ttL"),
            "--layout, column 4: expected a count of at least 1, got 0; to drop an item, leave it out\n"
            "  Et*0tt|ttL\n"
            "     ^");
  EXPECT_EQ(refusal("Et|\nx"), "--layout, column 5: expected one of E t m L | ( ) * or a digit after '*', got 'x'\n"
                               "  Et| x\n"
                               "      ^");
}

TEST(LayoutString, caretOfALongStringIsNearItsEnd) {
  std::string message = refusal(std::string(5000, 't') + "\xff" + std::string(5000, 't'));
  EXPECT_NE(message.find("column 5001: "), std::string::npos) << message;
  EXPECT_NE(message.find("got byte 0xff\n  ..." + std::string(60, 't') + "?"), std::string::npos) << message;
  EXPECT_EQ(message.substr(message.rfind('\n')), "\n" + std::string(65, ' ') + "^");
}

TEST(LayoutString, refusesWhatIsNotALayout) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "column 1: expected a layout such as"},
      {" , ", "column 1: expected a layout such as"},
      {"E(tt|)tt|L", "column 6: expected '*' and a count after ')', got 't'"},
      {"E(tt|)", "column 6: expected '*' and a count after ')', got the end of the layout"},
      {"E()*2L", "column 2: expected a group with content"},
      {"E( , )*2L", "column 2: expected a group with content"},
      {"Et*2*2L", "column 5: expected one multiplier"},
      {"E(t)*2*2L", "column 7: expected one multiplier"},
      {"E(tt|)*-1L", "column 8: expected a count after '*', got '-'"},
      {"Et*", "column 4: expected a count after '*', got the end of the layout"},
      {"E(tL", "column 2: expected ')' for this '('"},
      {"Et)*2L", "column 3: expected '(' before ')'"},
      {"*2EL", "column 1: expected a symbol, a bar or a group before '*'"},
      {"E(*2)*2L", "column 3: expected a symbol, a bar or a group before '*'"},
      {"Et3L", "column 3: expected one of E t m L | ( ) * or a digit after '*', got '3'"},
      {"Et*1 0L", "column 6: expected one of E t m L | ( ) * or a digit after '*', got '0'"},
  };
  for (auto [text, expected] : cases)
    EXPECT_NE(refusal(text).find(expected), std::string::npos) << text << "\n" << refusal(text);
}

TEST(LayoutString, limitIsExact) {
  EXPECT_EQ(parseLayout("t*1000000").stages.front().size(), 1'000'000u);
  EXPECT_EQ(parseLayout("|*999999").stages.size(), 1'000'000u);
  EXPECT_NE(refusal("t*1000001").find("expected at most 1000000 symbols, got 1 here x 1000001"), std::string::npos);
  EXPECT_NE(refusal("|*1000000").find("expected at most 1000000 stages, got 1 here x 1000000"), std::string::npos);
  EXPECT_NE(refusal("Et*1000000").find("expected at most 1000000 symbols"), std::string::npos);
}

TEST(LayoutString, hugeExpansionsAreRefusedBeforeTheyAreMade) {
  std::string tower = "t";
  for (int i = 0; i < 200; ++i)
    tower = "(" + tower + ")*999999999999999999999999";
  EXPECT_NE(refusal(tower).find("expected at most 1000000 symbols, got 1 here x 99999999999999999999..."),
            std::string::npos);
  // open groups count together: not a megabyte for each ten bytes
  std::string open;
  for (int i = 0; i < 1000; ++i)
    open += "(t*1000000";
  EXPECT_NE(refusal(open).find("expected at most 1000000 symbols"), std::string::npos);
  EXPECT_NE(refusal(std::string(2'000'000, '(')).find("expected ')' for this '('"), std::string::npos);
  EXPECT_NE(refusal(std::string(20'000'000, 't')).find("at most 16000000 characters, got 20000000"), std::string::npos);
  // closing a group of one copy costs nothing, whatever it holds
  EXPECT_EQ(parseLayout(std::string(500'000, '(') + "t*1000000" +
                        [] {
                          std::string closes;
                          for (int i = 0; i < 500'000; ++i)
                            closes += ")*1";
                          return closes;
                        }())
                .stages.front()
                .size(),
            1'000'000u);
}

TEST(LayoutString, printsTheCanonicalString) {
  EXPECT_EQ(printLayout({"Ettt", "tttt", "L"}), "Et*3|t*4|L");
  EXPECT_EQ(printLayout(parseLayout("Et*3|(tt|)*29,m|L").stages), "Et*3|(tt|)*29m|L");
  EXPECT_EQ(printLayout({"Ett", "tt", "ttL"}), "Ett|tt|ttL");
  EXPECT_EQ(printLayout({"E", "", "", "", "", "", "tL"}), "E||*5tL");
  EXPECT_EQ(printLayout({"", "", "", "", "", ""}), "|*5");
}
