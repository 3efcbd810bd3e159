//===- PhasesTest.cpp - What a failing phase says ---------------------------===//
//
// A pass that fails yields its first diagnostic, the phase, and a line that repeats it on a file that is there.
//
//===----------------------------------------------------------------------===//
#include "DriverPhases.h"
#include "lf/Pipelines/Pipelines.h"
#include "lf/Support/Error.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::lf;

namespace {

/// A chain of three layers: two stages do not divide it.
const char *const chain = R"(
  lf.chain embed @embed layers [@decoder] counts [3] head @head loc("layers")
)";

class Phases : public testing::Test {
protected:
  Phases() : context(MLIRContext::Threading::DISABLED) {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(chain, &context);
  }

  /// Runs the stages of `layout` for two pipeline ranks.
  void stages(const std::string &layout, const std::string &folder) {
    PipelineOptions options;
    options.pp = 2;
    options.layout = layout;
    runPhase(
        *module, ::lf::Phase::pipeline, [&](OpPassManager &passes) { buildStagePipeline(passes, options); }, folder,
        warnings);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<std::string> warnings;
};

TEST_F(Phases, SucceedsInSilence) {
  ASSERT_TRUE(module);
  EXPECT_NO_THROW(stages("Et|ttL", ""));
  EXPECT_TRUE(warnings.empty());
  EXPECT_NE(printed(*module).find("lf.stage @stage1 pp 1"), std::string::npos) << printed(*module);
}

TEST_F(Phases, FailureNamesPhasePassPlaceAndRepeats) {
  ASSERT_TRUE(module);
  SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("lf-phases", folder));
  try {
    stages("Et|tL", std::string(folder));
    FAIL() << "expected a refusal";
  } catch (const ::lf::Error &error) {
    EXPECT_EQ(error.code, ::lf::Exit::usage);
    ASSERT_GE(error.notes.size(), 2u);
    const std::string &where = error.notes[error.notes.size() - 2], &repeat = error.notes.back();
    EXPECT_EQ(where, "in phase \"pipeline\", pass lf-assign-stages, at \"layers\"");
    std::string file = std::string(folder) + "/before-pipeline.mlir";
    std::string line = "to repeat: lf-opt " + file + " --lf-assign-stages='layout=Et|tL pp=2"; // then other options
    EXPECT_EQ(repeat.substr(0, line.size()), line);
    EXPECT_EQ(repeat.back(), '\'');
    auto kept = llvm::MemoryBuffer::getFile(file);
    ASSERT_TRUE(static_cast<bool>(kept));
    EXPECT_TRUE((*kept)->getBuffer().contains("loc(\"layers\")")); // places survive
    EXPECT_FALSE((*kept)->getBuffer().contains("lf.stage"));       // it is the input
  }
  llvm::sys::fs::remove_directories(folder);
}

} // namespace
