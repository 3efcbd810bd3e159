// device_memory.h - what transports need of memory that is not the host's.
//
// Idea: work on a device is issued and finishes later, so a meeting of threads orders nothing there; marks do: a member
// publishes one, the others' streams wait for it. Invariant: all calls come from the rank's own thread.
#pragma once

#include "lf/runtime.h"

#include <cstdint>
#include <memory>

namespace lf::rt {

/// The device of one rank. `stream` is as in lf/runtime.h: 0 is compute, 1 + comm a communicator's.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;

  /// Lets work on this device use the memory of every other one that it can.
  virtual void reach_peers() = 0;
  /// True for an address in the memory of any device, false for one of the host.
  virtual bool holds(const void *) const = 0;

  /// A place to mark a moment of a stream; kept until the device is closed.
  using Mark = void *;
  virtual Mark make_mark() = 0;
  virtual void record(Mark, int32_t stream) = 0;
  /// What is issued on `stream` from now on waits for the moment last recorded, on this or another rank's device.
  virtual void wait(int32_t stream, Mark) = 0;

  /// Issues a copy; either side may lie on another device or on the host.
  virtual void copy(void *to, const void *from, int64_t bytes, int32_t stream) = 0;
  /// Issues y = xs[0] op xs[1] op ..., with the order and rounding of comm/reduce.h; y may be one of xs.
  virtual void reduce(const void *const *xs, int32_t n, void *y, int64_t count, lf_dtype, lf_reduction,
                      int32_t stream) = 0;

  /// The host takes part in what is being issued: a recording of the step would not be enough to repeat it.
  virtual void host_decides(const char *why) = 0;

  /// A message under way, in memory of its own.
  struct Parcel {
    virtual ~Parcel() = default;
  };
  /// Copies x into `used`, or into a new parcel when it is null or too small, on the compute stream.
  virtual std::unique_ptr<Parcel> pack(std::unique_ptr<Parcel> used, const void *x, int64_t bytes) = 0;
  /// Copies a parcel of any rank's device to y on the compute stream; it may be packed again afterwards.
  virtual void unpack(Parcel &, void *y, int64_t bytes) = 0;
};

} // namespace lf::rt
