//===- json.cpp - JSON of files that come from elsewhere ------------------===//
//
// See json.h.
//
//===----------------------------------------------------------------------===//
#include "json.h"

#include "../text.h"

#include <algorithm>
#include <set>
#include <vector>

namespace lf::rt {

using nlohmann::json;

namespace {
struct TooDeep {};
constexpr int deepest = 64;
} // namespace

json parse_object(const char *begin, const char *end, const Refuse &refuse) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  auto watch = [&](int depth, json::parse_event_t event, json &value) {
    if (depth > deepest)
      throw TooDeep{};
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  json object;
  try {
    object = json::parse(begin, end, watch);
  } catch (const TooDeep &) {
    refuse(0, "JSON nested at most " + std::to_string(deepest) + " deep", "more");
  } catch (const json::parse_error &error) {
    const size_t length = static_cast<size_t>(end - begin), at = std::clamp<size_t>(error.byte, 1, length + 1) - 1;
    const std::string found(begin + at, std::min<size_t>(20, length - at));
    refuse(static_cast<int64_t>(at), "JSON", found.empty() ? "its end" : quote(found));
  } catch (const json::exception &) {
    refuse(0, "JSON", "a number that is too large");
  }
  if (!twice.empty())
    refuse(0, "each name once", quote(twice) + " twice");
  if (!object.is_object())
    refuse(0, "a JSON object", std::string(object.type_name()));
  return object;
}

} // namespace lf::rt
