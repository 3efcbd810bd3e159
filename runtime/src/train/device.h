//===- device.h - Between the memory of the device and the host -----------===//
//
// The training loop touches device memory only through these; each target defines them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/runtime.h"

#include <cstdint>

namespace lf::rt {

/// Both return when the copy is complete and what was issued before it on the compute stream has been seen.
void copy_to_host(lf_rank &, void *host, const void *device, int64_t bytes);
void copy_to_device(lf_rank &, void *device, const void *host, int64_t bytes);

} // namespace lf::rt
