// library.h - shared libraries that are opened when they are first needed.
//
// Idea: a program starts, describes itself and refuses with words of its own where a library is missing, which the
// system's loader would not let it. Each function of a library is defined here under its own name and hands its call on.
#pragma once

namespace lf::rt {

/// The address of a function of `file`, which is opened at the first call. Throws Failure 2 that names file and
/// `package` when there is no such library, or no such function in it. Any thread.
void *library_function(const char *file, const char *package, const char *name);

} // namespace lf::rt

/// Defines `result name parameters` as the function of that name in `file`; `arguments` are the parameters' names.
#define LF_LIBRARY_FUNCTION(file, package, result, name, parameters, arguments)                                        \
  extern "C" result name parameters {                                                                                  \
    static const auto function = reinterpret_cast<decltype(&name)>(::lf::rt::library_function(file, package, #name));  \
    return function arguments;                                                                                         \
  }
