// device.h - what differs between targets when a rank starts and when it orders its work.
//
// Idea: one file of each target defines all of this, and a program links one of them; the rest of the runtime does not
// know which.
#pragma once

#include "rank.h"
#include "trace.h"

#include <cstdint>
#include <memory>

namespace lf::rt {

/// Called on the thread of the rank before it is connected, with its transport: chooses a device, makes its streams and workspaces, and
/// sets lf_rank::device. Throws Failure 2 when there is no device that can run the program, Failure 3 when what the
/// plan needs does not fit in its free memory.
void open_device(lf_rank &);

/// How many ranks of a program that was started alone can have a device of their own; 0: ranks share the host.
int32_t own_devices();

/// Zeroed memory of the device, 64-byte aligned; null when the device refuses.
std::shared_ptr<void> map_zeroed(lf_rank &, int64_t bytes);

/// Names what the rank issues from now on for the device's profiler, until the next call.
void name_range(lf_rank &, const Where &);

/// Null where work is done when its call returns.
std::shared_ptr<DeviceClock> make_clock(lf_rank &);

/// Memory of a rank's device.
struct DeviceUse {
  int32_t device = -1;    ///< number on its host; -1: the host
  uint64_t id[2] = {0, 0}; ///< the same for all ranks on the device, and for no other device
  int64_t planned = 0;  ///< arenas of the rank
  int64_t beside = 0;   ///< its other allocations: workspaces, scratch, sums, places of messages
  int64_t transport = 0; ///< what its transport takes, about
  int64_t context = 0;   ///< what the driver and libraries take once for all ranks of the device, about
  int64_t reported = 0; ///< in use on the whole device, as the driver says
};
DeviceUse device_use(lf_rank &);

/// lf_record and lf_wait, after their arguments were checked.
void record_event(lf_rank &, lf_event, int32_t stream);
void wait_event(lf_rank &, int32_t stream, lf_event);

} // namespace lf::rt
