// silent.cpp - see silent.h.
#include "comm/silent/silent.h"

#include <algorithm>

namespace lf::rt {
namespace {

class SilentCommunicator final : public Communicator {
public:
  SilentCommunicator(const std::string &name, std::vector<int32_t> members, int32_t rank, const Attached &attached)
      : Communicator(name, std::move(members), rank, attached) {}

private:
  void run(const Call &) override {}
  void run_alone(const Call &) override {}
};

class SilentTransport final : public Transport {
public:
  SilentTransport(int32_t rank, int32_t world, const Attached &attached) : Transport(rank, world, attached) {}

  const char *name() const override { return "silent"; }
  std::unique_ptr<Communicator> make_group(const std::string &name, std::vector<int32_t> members) override {
    const auto index = std::find(members.begin(), members.end(), rank()) - members.begin();
    return std::make_unique<SilentCommunicator>(name, std::move(members), static_cast<int32_t>(index), attached_);
  }
  void open_channel(int32_t, int32_t, bool, int64_t) override {}
  void poll() override {}
  void leave() override {}
  void abort(const Failure &) override {}

private:
  void run_send(const Call &) override {}
  void run_recv(const Call &) override {}
  void run_post(const Call &) override {}
  void run_wait(const Call &) override {}
};

} // namespace

std::shared_ptr<Transport> make_silent_transport(int32_t rank, int32_t world, const Attached &attached) {
  return std::make_shared<SilentTransport>(rank, world, attached);
}

} // namespace lf::rt
