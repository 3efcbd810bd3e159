//===- Writer.h - Lines of C++ as emitc ops ----------------------------------===//
//
// One emitc.verbatim a line, so that what is printed is what is written here; names and literals in C++'s spelling.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Conversion/Conversion.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/Twine.h"

namespace mlir::lfrt {

class Writer {
public:
  Writer(ModuleOp from, OpBuilder b) : from(from), b(b) {}
  ModuleOp from;
  OpBuilder b;
  std::string mainName = "real";             ///< type of gradients in the emitted program
  std::map<std::string, std::string> arrays; ///< contents of a static array of doubles -> its name

  void line(const Twine &text = "") { emitc::VerbatimOp::create(b, from.getLoc(), text.str()); }
  void comment(const Twine &text) { line("// " + text); }
  /// Bit mask over the mesh's axes.
  std::string mask(ArrayAttr axes) const;
  /// Number of a communicator; its stream is one more. "compute" has stream 0.
  int64_t comm(StringRef name) const;
  std::string stream(StringRef name) const;
  /// lf_coordinate(r, mask) * scale
  std::string offset(CoordinateAttr) const;
};

/// A name as an identifier: other characters than letters and digits become '_'.
std::string identifier(StringRef name);
/// A C string literal; long ones over several lines, `indent` in front of each but the first.
std::string literal(StringRef text, StringRef indent = "");
/// The shortest decimal that reads back as the same double.
std::string number(double value);
/// LF_F32, LF_F64 or LF_BF16.
StringRef dtypeName(Type type);
/// real, int32_t, as the runtime's C types name elements.
StringRef elementName(Type type);

void emitTables(Writer &);
void emitFunctions(Writer &);
void emitPrograms(Writer &);

} // namespace mlir::lfrt
