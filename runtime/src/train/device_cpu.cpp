//===- device_cpu.cpp - Between the memory of the device and the host -----===//
//
// On the cpu they are the same memory.
//
//===----------------------------------------------------------------------===//
#include "device.h"

#include <cstring>

namespace lf::rt {

void copy_to_host(lf_rank &, void *host, const void *device, int64_t bytes) {
  std::memcpy(host, device, static_cast<size_t>(bytes));
}

void copy_to_device(lf_rank &, void *device, const void *host, int64_t bytes) {
  std::memcpy(device, host, static_cast<size_t>(bytes));
}

} // namespace lf::rt
