// cpu.cpp - the host as a device: its memory, and order by issue.
#include "device/device.h"

#include <sys/mman.h>

namespace lf::rt {

void open_device(lf_rank &c) {
  if (c.program->dtype == LF_BF16)
    throw Failure{2, "expected the compute type on cpu to be float32 or float64, got bfloat16; compile with --fp32 or "
                     "--fp64, or for --target cuda"};
}

int32_t own_devices() { return 0; }

std::shared_ptr<void> map_zeroed(lf_rank &, int64_t bytes) {
  // Pages are zero and cost nothing before their first use.
  size_t length = static_cast<size_t>(bytes);
  void *base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return nullptr;
  return std::shared_ptr<void>(base, [length](void *p) { munmap(p, length); });
}

void name_range(lf_rank &, const Where &) {}
std::shared_ptr<DeviceClock> make_clock(lf_rank &) { return nullptr; }
DeviceUse device_use(lf_rank &) { return {}; }

// Everything runs in the order of issue: an event is a number.
void record_event(lf_rank &, lf_event, int32_t) {}
void wait_event(lf_rank &, int32_t, lf_event) {}

} // namespace lf::rt
