//===- initial_weights.cpp - The same start under every plan --------------===//
//
// See initial_weights.h.
//
//===----------------------------------------------------------------------===//
#include "initial_weights.h"

#include "../data/permutation.h"
#include "device.h"
#include "real.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>

namespace lf::rt {

uint64_t weights_key(uint64_t seed, const std::string &hf_name) {
  uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
  for (unsigned char c : hf_name)
    hash = (hash ^ c) * 0x100000001b3u;
  return mix(hash ^ mix(seed));
}

double normal(uint64_t key, uint64_t element) {
  uint64_t first = mix(key + 2 * element), second = mix(key + 2 * element + 1);
  double radius = (static_cast<double>(first >> 11) + 1.0) * 0x1p-53; // (0, 1]
  double angle = static_cast<double>(second >> 11) * 0x1p-53;         // [0, 1)
  return std::sqrt(-2.0 * std::log(radius)) * std::cos(2.0 * M_PI * angle);
}

/// The processors of this host, shared by the ranks that are on it as far as that is known.
static int64_t threads_of(const lf_rank &c) {
  int64_t ranks = c.world;
  if (const char *text = std::getenv("LOCAL_WORLD_SIZE"); text && std::atoi(text) > 0)
    ranks = std::atoi(text);
  return std::clamp<int64_t>(std::thread::hardware_concurrency() / std::max<int64_t>(1, ranks), 1, 32);
}

/// part(begin, end) over [0, count), on several threads when there is enough to do.
template <class Part> static void in_parts(int64_t count, int64_t threads, Part part) {
  constexpr int64_t least = int64_t(1) << 18; // elements that are worth a thread
  threads = std::min(threads, count / least);
  if (threads <= 1)
    return part(0, count);
  std::vector<std::thread> workers;
  for (int64_t i = 0; i < threads; ++i)
    workers.emplace_back(part, count * i / threads, count * (i + 1) / threads);
  for (std::thread &worker : workers)
    worker.join();
}

void initialise(lf_rank &c, const Piece &piece) {
  with_real(*c.program, [&](auto real) {
    using Real = decltype(real);
    const lf_param &p = *piece.param;
    Shard shard = make_shard(*c.program, p, c.coordinates);
    std::vector<Real> host(static_cast<size_t>(shard.count), Real(0));
    uint64_t key = weights_key(c.seed, piece.hf_name());
    auto fill = [&](int64_t begin, int64_t end) {
      shard.runs(begin, end, [&](int64_t at, int64_t element, int64_t step, int64_t length) {
        for (int64_t i = 0; i < length; ++i)
          host[static_cast<size_t>(at + i)] = static_cast<Real>(
              p.init == LF_INIT_ONES ? 1.0 : p.init_std * normal(key, static_cast<uint64_t>(element + i * step)));
      });
    };
    if (p.init != LF_INIT_ZEROS)
      in_parts(shard.count, threads_of(c), fill);
    Real *arena = static_cast<Real *>(lf_arena(&c, LF_MASTER)) + piece.offset;
    copy_to_device(c, arena, host.data(), shard.count * static_cast<int64_t>(sizeof(Real)));
  });
}

} // namespace lf::rt
