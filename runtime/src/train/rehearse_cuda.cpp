//===- rehearse_cuda.cpp - A step before the first one --------------------===//
//
// A kernel's code is loaded when it is first launched, and that may wait for all that runs on the device: for a message
// of another rank, which may need that very kernel. Here no message is under way.
//
//===----------------------------------------------------------------------===//
#include "../comm/silent/silent.h"
#include "../context.h"
#include "../device/cuda/cuda_device.h"
#include "device.h"
#include "options.h"

#include <iterator>
#include <utility>

namespace lf::rt {
namespace {

/// A rank that meets nobody, until the end of its life.
class Apart {
public:
  explicit Apart(lf_rank &c)
      : c_(c), quiet_(*c.options), options_(c.options), transport_(c.transport), comms_(std::move(c.comms)),
        trace_(c.trace), traffic_(c.traffic), step_(c.step), at_(c.at), next_event_(c.next_event) {
    quiet_.dump_gradients.clear();
    c.options = &quiet_;
    c.trace = std::make_shared<Trace>();
    c.traffic = std::make_shared<Traffic>();
    connect_rank(c, make_silent_transport(c.rank, c.world, {c.trace.get(), &c.at}));
  }
  ~Apart() {
    c_.options = options_;
    c_.comms = std::move(comms_);
    c_.transport = transport_;
    c_.trace = trace_;
    c_.traffic = traffic_;
    c_.step = step_;
    c_.at = at_;
    c_.next_event = next_event_;
  }
  Apart(const Apart &) = delete;
  Apart &operator=(const Apart &) = delete;

private:
  lf_rank &c_;
  Options quiet_;
  const Options *options_;
  std::shared_ptr<Transport> transport_;
  std::vector<std::unique_ptr<Communicator>> comms_;
  std::shared_ptr<Trace> trace_;
  std::shared_ptr<Traffic> traffic_;
  StepState step_;
  Where at_;
  lf_event next_event_;
};

} // namespace

void rehearse(lf_rank &c) {
  {
    Apart apart(c);
    c.program->step(&c);
    for (int32_t stream = 0; stream <= c.program->num_comms; ++stream)
      finish(c, stream);
  }
  for (int kind = 0; kind < static_cast<int>(std::size(c.arenas)); ++kind)
    if (c.arena_owners[kind])
      LF_CUDA(cudaMemsetAsync(c.arenas[kind], 0, static_cast<size_t>(c.arena_bytes[kind]), cuda(&c).compute()));
}

} // namespace lf::rt
