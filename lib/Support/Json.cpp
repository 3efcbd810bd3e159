//===- Json.cpp - Strict reading of JSON files -----------------------------===//
//
// nlohmann/json does the parsing; a callback sees the keys and refuses those given twice.
//
//===----------------------------------------------------------------------===//
#include "lf/Support/Json.h"

#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

namespace lf {

static constexpr size_t maxBytes = size_t{64} << 20;

std::string readFile(const std::string &path, const std::string &what) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    throw usage(what + " " + quote(path) + ": expected a file, got a folder");
  if (std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed))
    throw usage(what + " " + quote(path) + ": expected an ordinary file, got a device, pipe or socket");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw usage(what + " " + quote(path) + ": " + (errno ? std::strerror(errno) : "cannot be opened") +
                "; expected a readable file");
  std::string text;
  char block[1 << 16];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    text.append(block, static_cast<size_t>(in.gcount()));
    if (text.size() > maxBytes)
      throw usage(what + " " + quote(path) + ": expected at most " + std::to_string(maxBytes) +
                  " bytes of JSON, got more");
  }
  if (in.bad())
    throw usage(what + " " + quote(path) + ": reading failed after " + std::to_string(text.size()) + " bytes");
  return text;
}

std::string pointerTo(const std::string &pointer, const std::string &key) {
  std::string out = pointer + "/";
  for (char c : key)
    out += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return out;
}

std::string show(const Json &value) {
  if (value.is_string())
    return quote(value.get<std::string>());
  if (value.is_array())
    return "an array of " + std::to_string(value.size());
  if (value.is_object())
    return "an object";
  return value.dump();
}

/// "line L, column C" of a byte offset that counts from 1.
static std::string place(const std::string &text, size_t byte) {
  size_t end = std::min(byte > 0 ? byte - 1 : 0, text.size());
  size_t line = 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(end), '\n'));
  size_t start = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  size_t column = end - (start == std::string::npos ? 0 : start + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// nlohmann's reason without its prefix and without what it read last, which may hold anything.
static std::string reason(const std::string &message) {
  size_t from = message.find(" - ");
  std::string out = from == std::string::npos ? "syntax error" : message.substr(from + 3);
  if (size_t last = out.find("; last read: "); last != std::string::npos) {
    size_t next = out.rfind("; expected ");
    out = out.substr(0, last) + (next != std::string::npos && next > last ? out.substr(next) : "");
  }
  for (char &c : out)
    if (c == '\n' || c == '\'')
      c = c == '\n' ? ' ' : '"';
  return out;
}

Json parseJson(const std::string &text, const std::string &where) {
  struct Level {
    std::set<std::string> keys;
    std::string key;
  };
  std::vector<Level> open;
  auto watch = [&](int, Json::parse_event_t event, Json &value) {
    if (event == Json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open.pop_back();
    else if (event == Json::parse_event_t::key) {
      open.back().key = value.get<std::string>();
      if (!open.back().keys.insert(open.back().key).second) {
        std::string pointer;
        for (const Level &level : open)
          pointer = pointerTo(pointer, level.key);
        throw usage(where + ": " + quote(pointer) + ": expected each key once, got it twice; remove one");
      }
    }
    return true;
  };
  if (size_t at = text.find('\0'); at != std::string::npos) // where the parser would end, and not see the rest
    throw usage(where + ": expected JSON, got a zero byte at " + place(text, at + 1) + "; write the file again");
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error &e) {
    throw usage(where + ": expected JSON, got a mistake at " + place(text, e.byte) + ": " + reason(e.what()));
  } catch (const Json::out_of_range &e) {
    std::string message = e.what(); // ... number overflow parsing '1e999'
    size_t from = message.find('\''), to = message.rfind('\'');
    throw usage(where + ": expected numbers that fit a double, got " +
                (from < to ? quote(message.substr(from + 1, to - from - 1)) : "an overflow"));
  }
}

} // namespace lf
