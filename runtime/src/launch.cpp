// launch.cpp - ranks as threads, or one rank of a launcher's job; and what is printed when a rank fails.
//
// Idea: every rank's outcome is kept in its seat; one thread reports all seats, in the order of ranks.
#include "launch.h"

#include "comm/local/local.h"
#include "context.h"
#include "device/device.h"
#include "environment.h"
#include "text.h"
#if defined(LF_HAVE_NCCL)
#include "comm/nccl/nccl.h"
#elif defined(LF_HAVE_MPI)
#include "comm/mpi/mpi.h"
#endif

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace lf::rt {

// ---- Environment --------------------------------------------------------------------------------------------------

static int64_t read_integer(const char *name, const char *text, int64_t least) {
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text, &end, 10);
  if (errno || end == text || *end || value < least || value > INT32_MAX)
    throw Failure{2, "expected the environment variable " + std::string(name) + " to be an integer of " +
                         std::to_string(least) + " or more, got " + quote(text)};
  return value;
}

/// Two variables of a launcher. No one sets half of a `whole` pair; SLURM sets SLURM_NTASKS in the shell of an
/// allocation too, where a program is started alone, and not every PMI tells its size.
struct Pair {
  const char *rank, *world;
  bool whole;
};
static constexpr Pair pairs[] = {{"RANK", "WORLD_SIZE", true},
                                 {"SLURM_PROCID", "SLURM_NTASKS", false},
                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
                                 {"PMI_RANK", "PMI_SIZE", false}};

/// A half that says what `launcher` says is no harm: scripts for SLURM often export WORLD_SIZE.
static void check_half(const Pair &pair, const std::optional<Launcher> &launcher) {
  const char *rank = std::getenv(pair.rank), *world = std::getenv(pair.world);
  if (!pair.whole || !rank == !world)
    return;
  const std::string name = rank ? pair.rank : pair.world, missing = rank ? pair.world : pair.rank;
  const int64_t value = rank ? read_integer(pair.rank, rank, 0) : read_integer(pair.world, world, 1);
  if (launcher && value == (rank ? launcher->rank : launcher->world))
    return;
  throw Failure{
      2, "expected the environment variable " + missing + " beside " + name + "=" + std::to_string(value) + ", got " +
             (launcher ? "rank " + std::to_string(launcher->rank) + " of " + launcher->variable + "=" +
                             std::to_string(launcher->world) + " alone; set both, or unset " + name
                       : "none; set both, or unset " + name + " to run every rank as a thread of this process")};
}

std::optional<Launcher> find_launcher() {
  std::optional<Launcher> launcher;
  for (const Pair &pair : pairs) {
    const char *rank = std::getenv(pair.rank), *world = std::getenv(pair.world);
    if (!rank || !world)
      continue;
    launcher.emplace();
    launcher->variable = pair.world;
    launcher->rank = static_cast<int32_t>(read_integer(pair.rank, rank, 0));
    launcher->world = static_cast<int32_t>(read_integer(pair.world, world, 1));
    if (launcher->rank >= launcher->world)
      throw Failure{2, "expected " + std::string(pair.rank) + " to be below " + pair.world + " = " +
                           std::to_string(launcher->world) + ", got " + std::to_string(launcher->rank)};
    break;
  }
  for (const Pair &pair : pairs)
    check_half(pair, launcher);
  return launcher;
}

static double wait_limit(const LaunchOptions &options) {
  if (options.timeout_seconds > 0.0)
    return options.timeout_seconds;
  const char *text = std::getenv("LF_TIMEOUT_SECONDS");
  if (!text)
    return 600.0;
  char *end = nullptr;
  double seconds = std::strtod(text, &end);
  if (end == text || *end || !(seconds > 0.0 && seconds < 1e9))
    throw Failure{2, "expected the environment variable LF_TIMEOUT_SECONDS to be seconds above 0 and below 1e9, got " +
                         quote(text)};
  return seconds;
}

// ---- One rank -----------------------------------------------------------------------------------------------------

namespace {

/// A rank and how it ended.
struct Seat {
  lf_rank rank;
  bool ended = false;     ///< guarded by the job's mutex until the job is over
  bool stopped = false;   ///< because of another rank
  std::string waits;      ///< what a stopped rank waited for
  Failure failure{0, ""}; ///< code 0: none
};

void prepare(Seat &seat, const lf_program &program, const LaunchOptions &options, int32_t rank, bool thread) {
  place_rank(seat.rank, program, rank);
  seat.rank.options = options.options;
  seat.rank.seed = options.seed;
  seat.rank.cpu_threads = thread || options.cpu_threads < 1 ? 1 : options.cpu_threads;
}

using Body = std::function<void(lf_rank &)>;
using MakeTransport = std::function<std::shared_ptr<Transport>(Seat &)>;

/// Connects the rank, runs the body, and turns whatever is thrown into the seat's outcome. `failed` is called when this
/// rank is not one that another stopped, before the others hear of it. Returns the transport, if it was made.
std::shared_ptr<Transport> occupy(Seat &seat, const MakeTransport &make, double timeout, const Body &body,
                                  const std::function<void()> &failed) {
  std::shared_ptr<Transport> transport;
  try {
    transport = make(seat);
    transport->timeout_seconds = timeout;
    seat.rank.transport = transport;
    open_device(seat.rank);
    transport->memory = seat.rank.device.get();
    connect_rank(seat.rank, transport);
    transport->started();
    allocate_arenas(seat.rank);
    body(seat.rank);
    transport->leave();
  } catch (const Stopped &stopped) {
    seat.stopped = true;
    seat.waits = stopped.waits;
    seat.failure = stopped;
  } catch (...) {
    seat.failure = current_failure();
    failed();
    if (transport)
      transport->abort(seat.failure);
  }
  return transport;
}

std::string numbered(const lf_rank &rank) { return "rank " + std::to_string(rank.rank); }

/// What one rank says about the end of the job. `culprit` and `first`: the failure that stopped it.
std::string outcome(const Seat &seat, int32_t culprit, const Failure &first) {
  std::string who = "lf: " + numbered(seat.rank);
  std::string stopped_by = ", since rank " + std::to_string(culprit) + " failed; ";
  if (!seat.ended) {
    TraceEntry entry;
    return who + " did not stop" + stopped_by + "it " +
           (seat.rank.trace->waiting(entry) ? "waits in " + describe(entry) : "computes") + "\n";
  }
  if (seat.stopped)
    return who + " stopped" + stopped_by + "it was waiting for " + seat.waits + "\n";
  if (seat.failure.code != 0 && seat.rank.rank != culprit && seat.failure.message != first.message)
    return who + " failed too: " + seat.failure.message + "\n";
  return "";
}

// ---- Threads ------------------------------------------------------------------------------------------------------

/// `exits`: after a failure the process ends here, and nothing of the ranks is taken down.
int run_threads(const lf_program &program, const LaunchOptions &options, double timeout, const Body &body,
                const MakeTransport &make, bool exits) {
  const int32_t world = static_cast<int32_t>(mesh_size(program));
  std::vector<Seat> seats(world);
  std::mutex mutex; // guards what follows, and the seats' `ended`
  std::condition_variable changed;
  int32_t left = world, culprit = -1; // culprit: the first that failed by itself

  for (int32_t r = 0; r < world; ++r)
    prepare(seats[r], program, options, r, world > 1);
  auto run = [&](int32_t r) {
    Seat &seat = seats[r];
    occupy(seat, make, timeout, body, [&] {
      std::lock_guard<std::mutex> lock(mutex);
      if (culprit < 0)
        culprit = r;
      changed.notify_all();
    });
    std::lock_guard<std::mutex> lock(mutex);
    seat.ended = true;
    --left;
    changed.notify_all();
  };

  std::vector<std::thread> threads;
  if (world == 1)
    run(0);
  for (int32_t r = 0; world > 1 && r < world; ++r)
    try {
      threads.emplace_back(run, r);
    } catch (const std::exception &e) { // those that run wait for those that cannot, and have nothing to lose yet
      std::fprintf(
          stderr,
          "lf: error: expected a thread for each of the %d ranks, got %d: %s; start the ranks as processes of a "
          "launcher, or compile for fewer\n",
          world, r, e.what());
      std::fflush(nullptr);
      std::_Exit(3);
    }
  bool all;
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return left == 0 || culprit >= 0; });
    auto grace = std::chrono::duration<double>(options.grace_seconds);
    all = changed.wait_for(lock, grace, [&] { return left == 0; });
  }
  if (all)
    for (std::thread &thread : threads)
      thread.join();
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t r = 0; culprit < 0 && r < seats.size(); ++r)
    if (seats[r].failure.code != 0)
      culprit = static_cast<int32_t>(r);
  if (culprit < 0)
    return 0;

  const Failure &first = seats[culprit].failure;
  std::string text = "lf: error: " + (world > 1 ? "rank " + std::to_string(culprit) + ": " : "") + first.message + "\n";
  for (const Seat &seat : seats)
    text += outcome(seat, culprit, first);
  if (first.code == 5)
    for (const Seat &seat : seats)
      text += "lf: " + seat.rank.trace->report(seat.rank.rank);
  std::fputs(text.c_str(), stderr);
  if (!all || exits) { // threads that cannot be stopped still use the seats
    std::fflush(nullptr);
    std::_Exit(first.code);
  }
  return first.code;
}

int run_threads(const lf_program &program, const LaunchOptions &options, double timeout, const Body &body) {
  const int32_t world = static_cast<int32_t>(mesh_size(program));
#if defined(LF_HAVE_NCCL)
  if (!environment_switch("LF_LOCAL", false) && world > 1 && own_devices() >= world) {
    auto join = [timeout, address = nccl::own_address()](Seat &seat) {
      return make_nccl_transport(seat.rank, address, timeout, /*owns_process=*/false);
    };
    // To free what aborted communicators of one process share can take for ever.
    return run_threads(program, options, timeout, body, join, /*exits=*/true);
  }
#endif
  auto join = [job = std::make_shared<LocalJob>(world)](Seat &seat) {
    return make_local_transport(job, seat.rank.rank, {seat.rank.trace.get(), &seat.rank.at});
  };
  return run_threads(program, options, timeout, body, join, /*exits=*/false);
}

// What a rank that is a process joins, by the back end that this runtime was built with.
#if defined(LF_HAVE_NCCL)
int32_t own_rank(const Launcher &launcher) { return launcher.rank; }
std::shared_ptr<Transport> join_job(Seat &seat, double timeout) {
  return make_nccl_transport(seat.rank, nccl::find_address(), timeout, true);
}
[[noreturn]] void end_job(Transport *transport, int code, double grace) { end_nccl_job(transport, code, grace); }
#elif defined(LF_HAVE_MPI)
int32_t own_rank(const Launcher &launcher) { return join_mpi(launcher.world, launcher.variable); }
std::shared_ptr<Transport> join_job(Seat &seat, double) {
  return make_mpi_transport({seat.rank.trace.get(), &seat.rank.at});
}
[[noreturn]] void end_job(Transport *, int code, double grace) { end_mpi_job(code, grace); }
#endif

#if defined(LF_HAVE_NCCL) || defined(LF_HAVE_MPI)
int run_process(const lf_program &program, const LaunchOptions &options, double timeout, const Launcher &launcher,
                const Body &body) {
  const int32_t rank = own_rank(launcher);
  Seat seat;
  prepare(seat, program, options, rank, false);
  auto join = [timeout](Seat &s) { return join_job(s, timeout); };
  std::shared_ptr<Transport> transport = occupy(seat, join, timeout, body, [] {});
  seat.ended = true;
  if (seat.failure.code == 0)
    return 0;
  std::string text = seat.stopped ? "lf: " + numbered(seat.rank) + " stopped; it was waiting for " + seat.waits + "; " +
                                        seat.failure.message + "\n"
                                  : "lf: error: " + numbered(seat.rank) + ": " + seat.failure.message + "\n";
  if (seat.failure.code == 5)
    text += "lf: " + seat.rank.trace->report(rank);
  std::fputs(text.c_str(), stderr);
  std::fflush(nullptr);
  end_job(transport.get(), seat.failure.code, options.grace_seconds);
}
#endif

} // namespace

// ---- Entry --------------------------------------------------------------------------------------------------------

/// More or fewer copies of the model change the world; the ranks of one are the plan's.
static Failure another_world(const lf_program &program, const Launcher &launcher) {
  const int64_t world = mesh_size(program), copy = world / group_size(program, program.dp);
  const std::string got = std::to_string(launcher.world);
  return {2, "expected a launcher to start " + std::to_string(world) + " ranks, the world of this plan, got " +
                 launcher.variable + "=" + got + "; start " + std::to_string(world) + " processes, " +
                 (launcher.world % copy == 0 ? "compile with --world-size " + got
                                             : "compile for another number of ranks (a multiple of " +
                                                   std::to_string(copy) + " under this --tp and --pp)") +
                 ", or start the program alone (without its launcher's environment) to run every rank as a thread"};
}

int run_ranks(const lf_program *program, const LaunchOptions &options, const Body &body) {
  try {
    check_mesh(*program);
    const double timeout = wait_limit(options);
    const int64_t world = mesh_size(*program);
    std::optional<Launcher> launcher = find_launcher();
#if defined(LF_HAVE_NCCL)
    set_nccl_environment();
#endif
    if (!launcher || (launcher->world == 1 && world == 1))
      return run_threads(*program, options, timeout, body);
    if (launcher->world != world)
      throw another_world(*program, *launcher);
#if defined(LF_HAVE_NCCL) || defined(LF_HAVE_MPI)
    return run_process(*program, options, timeout, *launcher, body);
#else
    throw Failure{2, "expected a runtime with the mpi or nccl back end to be one of " + std::to_string(world) +
                         " ranks (" + launcher->variable +
                         "), got one built without; install MPI (cpu) or NCCL (cuda) and build again, or start the "
                         "program alone to run "
                         "every rank as a thread"};
#endif
  } catch (...) {
    const Failure failure = current_failure();
    std::fputs(("lf: error: " + failure.message + "\n").c_str(), stderr);
    tell_others(failure);
    return failure.code;
  }
}

void tell_others([[maybe_unused]] const Failure &failure) {
  std::fflush(nullptr); // the telling may take seconds
  try {
    const std::optional<Launcher> launcher = find_launcher();
    if (!launcher || launcher->world == 1)
      return;
    [[maybe_unused]] const double grace = LaunchOptions().grace_seconds;
#if defined(LF_HAVE_NCCL)
    tell_nccl_job(launcher->rank, launcher->world, failure, grace);
#elif defined(LF_HAVE_MPI)
    join_mpi(launcher->world, launcher->variable); // where the others wait for it
    tell_mpi_job(failure);
    end_mpi_job(failure.code, grace);
#endif
  } catch (...) { // nobody to tell, or no memory to do it: the failure itself has been printed
  }
}

} // namespace lf::rt
