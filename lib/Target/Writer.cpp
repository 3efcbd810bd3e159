//===- Writer.cpp - Lines of C++ as emitc ops --------------------*- C++ -*-===//
//
// Spelling of names, strings and numbers.
//
//===----------------------------------------------------------------------===//
#include "Writer.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>

namespace mlir::lfrt {

std::string identifier(StringRef name) {
  std::string text;
  for (char c : name)
    text += llvm::isAlnum(c) ? c : '_';
  if (text.empty() || llvm::isDigit(text[0]))
    text = "_" + text;
  // Names of arguments and of C++ that a parameter could have.
  static const char *const taken[] = {"a",    "at",   "r",    "i",     "layer", "bundle", "work",   "input",  "output",
                                      "and",  "or",   "not",  "xor",   "new",   "delete", "for",    "if",     "else",
                                      "do",   "int",  "long", "short", "char",  "float",  "double", "switch", "case",
                                      "this", "void", "auto", "const", "class", "static", "return", "main"};
  return llvm::is_contained(taken, text) ? text + "_" : text;
}

std::string literal(StringRef text, StringRef indent) {
  std::string out = "\"";
  size_t width = 1;
  for (unsigned char c : text) {
    if (width > 100) {
      out += "\"\n" + indent.str() + "\"";
      width = 1;
    }
    std::string piece;
    if (c == '"' || c == '\\')
      piece = {'\\', char(c)};
    else if (c == '\n')
      piece = "\\n";
    else if (c == '\t')
      piece = "\\t";
    else if (c < 32 || c > 126 || c == '?') // '?' so that no trigraph comes about.
      piece = {'\\', char('0' + (c >> 6)), char('0' + (c >> 3 & 7)), char('0' + (c & 7))};
    else
      piece = char(c);
    if (c == '?')
      piece = "\\?";
    out += piece;
    width = c == '\n' ? 1000 : width + piece.size();
  }
  return out + "\"";
}

std::string number(double value) {
  char digits[40];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string text(digits, end);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

StringRef dtypeName(Type type) { return type.isF64() ? "LF_F64" : type.isBF16() ? "LF_BF16" : "LF_F32"; }

StringRef elementName(Type type) {
  return type.isInteger(32) ? "int32_t" : type.isF64() ? "double" : type.isBF16() ? "uint16_t" : "float";
}

std::string Writer::mask(ArrayAttr axes) const {
  uint32_t bits = 0;
  for (auto [i, axis] : llvm::enumerate(findMesh(from).getAxes()))
    if (llvm::is_contained(axes, axis))
      bits |= 1u << i;
  return "0x" + llvm::utohexstr(bits, true);
}

int64_t Writer::comm(StringRef name) const {
  ModuleOp module = from;
  for (auto [i, comm] : llvm::enumerate(module.getOps<CommOp>()))
    if (comm.getName() == name)
      return i;
  return -1;
}

std::string Writer::stream(StringRef name) const { return std::to_string(name == "compute" ? 0 : comm(name) + 1); }

std::string Writer::offset(CoordinateAttr attr) const {
  std::string text = "lf_coordinate(r, " + mask(attr.getAxes()) + ")";
  return attr.getScale() == 1 ? text : text + " * INT64_C(" + std::to_string(attr.getScale()) + ")";
}

} // namespace mlir::lfrt
