//===- Fields.cpp - One JSON object of a model file, field by field --------===//
//
// See Fields.h.
//
//===----------------------------------------------------------------------===//
#include "Fields.h"

#include "lf/Support/Text.h"

#include <cmath>

namespace lf {

Fields::Fields(const Json &object, std::string where, std::string pointer)
    : where(std::move(where)), pointer(std::move(pointer)), object(object) {}

Error Fields::refuse(const std::string &key, const std::string &text) const {
  return usage(where + ": " + quote(pointerTo(pointer, key)) + ": " + text);
}

Error Fields::error(const std::string &key, const std::string &expected) const {
  return refuse(key, "expected " + expected + ", got " + (object.contains(key) ? show(object.at(key)) : "nothing"));
}

const Json *Fields::take(const std::string &key) {
  known.insert(key);
  auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

std::optional<int64_t> Fields::sizeIf(const std::string &key, int64_t max, int64_t min) {
  const Json *value = take(key);
  if (!value)
    return std::nullopt;
  const std::string expected = "an integer from " + std::to_string(min) + " to " + std::to_string(max);
  if (!value->is_number_integer())
    throw error(key, expected);
  if (value->is_number_unsigned() ? value->get<uint64_t>() > static_cast<uint64_t>(max) : value->get<int64_t>() > max)
    throw error(key, expected);
  if (value->get<int64_t>() < min)
    throw error(key, expected);
  return value->get<int64_t>();
}

int64_t Fields::size(const std::string &key, int64_t max) {
  if (auto value = sizeIf(key, max))
    return *value;
  throw error(key, "an integer from 1 to " + std::to_string(max) + " (the field is required)");
}

int64_t Fields::sizeOneOf(const std::vector<std::string> &spellings, int64_t max) {
  std::optional<int64_t> first;
  std::string firstKey;
  for (const std::string &key : spellings) {
    if (!has(key))
      continue;
    int64_t value = size(key, max);
    if (first && value != *first)
      throw error(key, std::to_string(*first) + " as " + quote(pointerTo(pointer, firstKey)) + " says");
    if (!first)
      first = value, firstKey = key;
  }
  return first ? *first : size(spellings.front(), max);
}

double Fields::real(const std::string &key, double absent, double min, double max) {
  bool given = has(key);
  const Json *value = take(key);
  if (!given)
    return absent;
  if (!value || !value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() < min ||
      value->get<double>() > max)
    throw error(key, "a number from " + number(min) + " to " + number(max));
  return value->get<double>();
}

bool Fields::flag(const std::string &key, bool absent) {
  bool given = has(key);
  const Json *value = take(key);
  if (!given)
    return absent;
  if (!value || !value->is_boolean())
    throw error(key, "true or false");
  return value->get<bool>();
}

std::string Fields::text(const std::string &key, const std::string &absent) {
  bool given = has(key);
  const Json *value = take(key);
  if (!given)
    return absent;
  if (!value || !value->is_string())
    throw error(key, "a string");
  return value->get<std::string>();
}

std::optional<Fields> Fields::objectIf(const std::string &key) {
  const Json *value = take(key);
  if (!value)
    return std::nullopt;
  if (!value->is_object())
    throw error(key, "an object or null");
  return Fields(*value, where, pointerTo(pointer, key));
}

void Fields::only(const std::string &key, const Json &value, const std::string &why) {
  known.insert(key);
  if (has(key) && object.at(key) != value)
    throw error(key, show(value) + " (" + why + ")");
}

void Fields::irrelevant(const std::vector<std::string> &keys) { known.insert(keys.begin(), keys.end()); }

void Fields::finish() const {
  std::vector<std::string> names(known.begin(), known.end());
  for (const auto &[key, value] : object.items())
    if (!known.contains(key)) {
      std::string near = nearest(key, names);
      throw usage(where + ": " + quote(pointerTo(pointer, key)) + ": expected a known field, got " + quote(key) +
                      (near.empty() ? "" : "; did you mean " + quote(near) + "?"),
                  {"every field of a model file is implemented, known to be irrelevant to training, or refused; remove "
                   "it, or pass --ignore-config-field " +
                   key + " if it changes nothing"});
    }
}

} // namespace lf
