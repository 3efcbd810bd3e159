// failure.cpp - see failure.h.
#include "failure.h"

#include "text.h"

#include <exception>
#include <new>

namespace lf::rt {

Failure current_failure() {
  try {
    throw;
  } catch (const Failure &failure) {
    return failure;
  } catch (const std::bad_alloc &) {
    return {3, "expected enough memory on the host, got a refused allocation"};
  } catch (const std::exception &e) {
    return {5, "expected no exception in the runtime, got " + quote(e.what())};
  } catch (...) {
    return {5, "expected no exception in the runtime, got one without words"};
  }
}

} // namespace lf::rt
