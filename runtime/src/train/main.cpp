//===- main.cpp - lf_main: the entry of every training executable ---------===//
//
// command line -> checks -> ranks -> exit code.
//
//===----------------------------------------------------------------------===//
#include "../comm/mesh.h"
#include "../launch.h"
#include "../signals.h"
#include "checkpoint.h"
#include "files.h"
#include "job.h"

#include <csignal>
#include <cstdio>
#include <fcntl.h>

using namespace lf::rt;

extern "C" int lf_main(int argc, char **argv, const lf_program *program) try {
  // A reader of the output that goes takes no training with it; one of a file of ours is an error of its write.
  std::signal(SIGPIPE, SIG_IGN);
  // Else a file that is opened would be given the number of a stream that was closed, and get what is printed.
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
      return 5;
  Options options = parse_options(std::vector<std::string>(argv + 1, argv + argc));
  if (options.help) {
    std::fputs(help_text(argv[0]).c_str(), stdout);
    return 0;
  }
  if (options.describe) {
    std::printf("%s\n", program->report);
    return 0;
  }
  int64_t world = mesh_size(*program);
  if (options.cpu_threads > 1 && world > 1 && !find_launcher())
    std::fprintf(stderr,
                 "warning: --cpu-threads: expected 1 since the %lld ranks are threads of one process, got %d; "
                 "each rank has one\n",
                 static_cast<long long>(world), options.cpu_threads);
  SignalWatch watch;
  std::unique_ptr<Job> job = prepare(*program, std::move(options));
  LaunchOptions launch;
  launch.options = &job->options;
  launch.timeout_seconds = job->options.timeout_set ? job->options.timeout_minutes * 60.0 : 0.0;
  launch.cpu_threads = job->options.cpu_threads;
  launch.seed = job->seed;
  int code = run_ranks(program, launch, [&](lf_rank &c) { train(*job, c); });
  if (code != 0 && job->saving && job->saving->alone()) // no rank runs any more
    drop_unfinished(job->options.save);
  return code == 0 && job->stopped ? 75 : code;
} catch (...) {
  const Failure failure = current_failure();
  std::fprintf(stderr, "error: %s\n", failure.message.c_str());
  tell_others(failure); // who may have found what is missing here
  return failure.code;
}
