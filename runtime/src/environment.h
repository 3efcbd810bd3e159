// environment.h - switches of the environment.
//
// Idea: a word that is neither 0 nor 1 was meant as something: it is refused, never taken for one of them.
#pragma once

#include "rank.h"
#include "text.h"

#include <cstdlib>
#include <string>

namespace lf::rt {

/// The variable `name`: 0 or 1; `absent` without it. Throws Failure 2 for anything else.
inline bool environment_switch(const char *name, bool absent) {
  const char *text = std::getenv(name);
  if (!text)
    return absent;
  const std::string value = text;
  if (value != "0" && value != "1")
    throw Failure{2, "expected the environment variable " + std::string(name) + " to be 0 or 1, got " + quote(value)};
  return value == "1";
}

} // namespace lf::rt
