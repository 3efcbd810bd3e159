// library.cpp - see library.h.
#include "device/cuda/library.h"

#include "rank.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

namespace lf::rt {

void *library_function(const char *file, const char *package, const char *name) {
  static std::mutex mutex;
  static std::map<std::string, void *> open;
  std::lock_guard<std::mutex> lock(mutex);
  void *&library = open[file];
  if (!library)
    library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *text = dlerror();
    throw Failure{2, "expected the library " + std::string(file) + " of " + package + ", got \"" +
                         (text ? text : "nothing") + "\"; install it, or name its folder in LD_LIBRARY_PATH"};
  }
  void *function = dlsym(library, name);
  if (!function)
    throw Failure{2, "expected the library " + std::string(file) + " to have " + name +
                         ", got one without it; install a newer version of " + package};
  return function;
}

} // namespace lf::rt
