//===- DriverPhases.cpp - Running the passes of one phase --------*- C++ -*-===//
//
// See DriverPhases.h.
//
//===----------------------------------------------------------------------===//
#include "DriverPhases.h"
#include "lf/Support/Error.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::lf;

namespace {

/// Remembers the innermost pass that failed.
struct FailedPass : PassInstrumentation {
  explicit FailedPass(Pass *&failed) : failed(failed) {}
  void runAfterPassFailed(Pass *pass, Operation *) override {
    if (!failed)
      failed = pass;
  }
  Pass *&failed;
};

struct Complaint {
  std::string message, place;
  std::vector<std::string> notes;
};

std::string placeOf(Location location) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!isa<UnknownLoc>(location))
    LocationAttr(location).print(stream);
  return StringRef(text).starts_with("loc(") ? text.substr(4, text.size() - 5) : text;
}

} // namespace

std::string mlir::lf::flagOf(Pass &pass) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  pass.printAsTextualPipeline(stream);
  auto [name, options] = StringRef(text).split('{');
  options = options.drop_back(options.ends_with("}") ? 1 : 0).trim();
  return "--" + name.str() + (options.empty() ? "" : "='" + options.str() + "'");
}

std::string mlir::lf::printed(ModuleOp module, bool locations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().enableDebugInfo(locations));
  return text + "\n";
}

/// Writes the input of a failed phase where it can be read again; empty when that is not possible.
static std::string keepInput(ModuleOp input, ::lf::Phase phase, const std::string &folder) {
  SmallString<128> path(folder);
  if (folder.empty()) {
    if (llvm::sys::fs::createTemporaryFile(std::string("lf-before-") + ::lf::nameOf(phase), "mlir", path))
      return "";
  } else {
    path += std::string("/before-") + ::lf::nameOf(phase) + ".mlir";
  }
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return "";
  file << printed(input, /*locations=*/true);
  file.close();
  if (!file.has_error())
    return std::string(path);
  file.clear_error();
  llvm::sys::fs::remove(path);
  return "";
}

void mlir::lf::runPhase(ModuleOp module, ::lf::Phase phase, llvm::function_ref<void(OpPassManager &)> build,
                        const std::string &folder, std::vector<std::string> &warnings) {
  OwningOpRef<ModuleOp> input = module.clone();
  std::vector<Complaint> errors;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
      warnings.push_back(diagnostic.str());
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    Complaint complaint{diagnostic.str(), placeOf(diagnostic.getLocation()), {}};
    for (Diagnostic &note : diagnostic.getNotes())
      complaint.notes.push_back(
          note.str() + (isa<UnknownLoc>(note.getLocation()) ? "" : " (at " + placeOf(note.getLocation()) + ")"));
    errors.push_back(std::move(complaint));
    return success();
  });
  PassManager passes(module.getContext());
  build(passes);
  Pass *failed = nullptr;
  passes.addInstrumentation(std::make_unique<FailedPass>(failed));
  if (succeeded(passes.run(module)))
    return;

  Complaint first = errors.empty() ? Complaint{"the pass failed without a diagnostic", "", {}} : errors.front();
  std::vector<std::string> notes = std::move(first.notes);
  std::string phaseText = std::string("in phase \"") + ::lf::nameOf(phase) + "\"", repeat;
  if (failed)
    phaseText += ", pass " + failed->getArgument().str();
  notes.push_back(phaseText + (first.place.empty() ? "" : ", at " + first.place));
  for (Pass &pass : passes.getPasses()) {
    repeat += " " + flagOf(pass);
    if (&pass == failed)
      break;
  }
  if (std::string path = keepInput(*input, phase, folder); !path.empty())
    notes.push_back("to repeat: lf-opt " + path + repeat);
  throw ::lf::usage(first.message, std::move(notes));
}
