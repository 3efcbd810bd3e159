//===- Fields.h - One JSON object of a model file, field by field ----------===//
//
// Each getter marks its field as known; finish() refuses what nobody asked for. So a field is implemented, listed as
// irrelevant, or an error: none is ignored silently.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Support/Error.h"
#include "lf/Support/Json.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lf {

class Fields {
public:
  /// `where` names the file, `pointer` the object in it ("" for the root).
  Fields(const Json &object, std::string where, std::string pointer);

  /// Present, even when null. Does not mark.
  bool has(const std::string &key) const { return object.contains(key); }
  /// The value and marks it; nullptr when absent or null.
  const Json *take(const std::string &key);

  /// An integer of 1 .. max; absent, null or any other value is an error.
  int64_t size(const std::string &key, int64_t max);
  /// The same with several spellings, at least one of which is given; all that are given must agree.
  int64_t sizeOneOf(const std::vector<std::string> &spellings, int64_t max);
  /// Nothing when absent or null.
  std::optional<int64_t> sizeIf(const std::string &key, int64_t max, int64_t min = 1);
  /// A finite number in [min, max]; `absent` when absent. Null is an error.
  double real(const std::string &key, double absent, double min, double max);
  bool flag(const std::string &key, bool absent);
  std::string text(const std::string &key, const std::string &absent);
  /// An object or nothing (absent or null).
  std::optional<Fields> objectIf(const std::string &key);

  /// If present, the field must have this value; `why` completes the message.
  void only(const std::string &key, const Json &value, const std::string &why);
  /// Known to be irrelevant to training.
  void irrelevant(const std::vector<std::string> &keys);
  /// Throws for the first field that was not asked for.
  void finish() const;

  /// `FILE: "/key": expected <expected>, got <value>`; a further clause is part of `expected`.
  Error error(const std::string &key, const std::string &expected) const;
  /// `FILE: "/key": <text>`
  Error refuse(const std::string &key, const std::string &text) const;
  const std::string where, pointer;

private:
  const Json &object;
  std::set<std::string> known;
};

} // namespace lf
