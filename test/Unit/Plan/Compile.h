//===- Compile.h - Shorthand for tests of the command line ------------------===//
//
// A small model file in a folder of its own, and parseCompile on a line of text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Plan/ParallelPlan.h"
#include "lf/Support/Error.h"
#include "lf/Support/Json.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace lf {

class CompileTest : public testing::Test {
protected:
  CompileTest() {
    folder = std::filesystem::temp_directory_path() / ("lf-plan-" + std::to_string(::getpid()) + "-" +
                                                       testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
    json = Json::parse(R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 192,
      "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 320, "max_position_embeddings": 128})");
  }
  ~CompileTest() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string &name, const std::string &text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }

  /// lf-compile MODEL -o out <line>, words split at spaces.
  CompileRequest compile(const std::string &line) {
    std::vector<std::string> args = {write("config.json", json.dump()), "-o", "out"};
    std::istringstream words(line);
    for (std::string word; words >> word;)
      args.push_back(word);
    return parseCompile(args, model);
  }

  ParallelPlan plan(const std::string &line) { return compile(line).plan; }

  std::string refusal(const std::string &line) {
    try {
      compile(line);
    } catch (const Error &e) {
      EXPECT_EQ(static_cast<int>(e.code), 2);
      return e.what();
    }
    return "accepted";
  }

  std::filesystem::path folder;
  Json json;
  ModelConfig model;
};

} // namespace lf
