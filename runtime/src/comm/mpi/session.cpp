// session.cpp - joining, hearing of failed ranks, and ending an mpi job.
//
// Idea: a rank that fails tells all others; they report, acknowledge, and the first one ends the job for everybody.
#include "comm/mpi/session.h"

#include "comm/mpi/mpi.h"

#include <cstdlib>

namespace lf::rt {
namespace mpi {

void check_mpi(int result, const char *call) {
  if (result == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Failure{5, "expected " + std::string(call) + " to succeed, got \"" + text + "\""};
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

bool Session::listen() {
  for (int tag : {abort_tag, ack_tag})
    for (;;) {
      int flag = 0;
      MPI_Status status;
      LF_MPI(MPI_Iprobe, MPI_ANY_SOURCE, tag, collectives, &flag, &status);
      if (!flag)
        break;
      AbortMessage message{};
      LF_MPI(MPI_Recv, &message, sizeof message, MPI_BYTE, status.MPI_SOURCE, tag, collectives, MPI_STATUS_IGNORE);
      ++heard;
      if (tag == abort_tag && !stopped) {
        stopped = true;
        first = message;
      }
    }
  return stopped;
}

void Session::tell(int tag, int to, size_t bytes) {
  farewell.emplace_back();
  LF_MPI(MPI_Isend, &mine, static_cast<int>(bytes), MPI_BYTE, to, tag, collectives, &farewell.back());
}

Session &session() {
  static Session *one = new Session; // lives until MPI_Finalize, which runs at exit
  return *one;
}

} // namespace mpi

using namespace mpi;

int32_t join_mpi(int32_t world, const std::string &variable) {
  Session &s = session();
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    int provided = 0;
    LF_MPI(MPI_Init_thread, nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    std::atexit([] { MPI_Finalize(); });
    LF_MPI(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    LF_MPI(MPI_Comm_rank, MPI_COMM_WORLD, &s.rank);
    LF_MPI(MPI_Comm_size, MPI_COMM_WORLD, &s.world);
  }
  if (s.world != world)
    throw Failure{2,
                  "expected MPI to connect " + std::to_string(world) + " ranks, as " + variable + " says, got " +
                      std::to_string(s.world) +
                      "; ranks on the cpu reach one another by MPI: start them with the mpirun or mpiexec (or srun) "
                      "of the MPI that this program was built with, or start it alone to run every rank as a thread"};
  if (s.collectives == MPI_COMM_NULL) {
    LF_MPI(MPI_Comm_dup, MPI_COMM_WORLD, &s.collectives);
    LF_MPI(MPI_Comm_dup, MPI_COMM_WORLD, &s.messages);
    int *bound = nullptr, found = 0;
    LF_MPI(MPI_Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    if (found)
      s.max_tag = *bound;
  }
  return s.rank;
}

void tell_mpi_job(const Failure &failure) {
  Session &s = session();
  s.mine.code = failure.code;
  s.mine.culprit = s.rank;
  for (size_t i = 0; i + 1 < sizeof s.mine.text && i < failure.message.size(); ++i)
    s.mine.text[i] = failure.message[i];
  try {
    for (int other = 0; other < s.world; ++other)
      if (other != s.rank)
        s.tell(abort_tag, other, sizeof s.mine);
  } catch (const Failure &) { // MPI itself is broken: end_mpi_job ends the others
  }
}

void end_mpi_job(int code, double grace_seconds) {
  Session &s = session();
  const bool culprit = s.mine.code != 0;
  try {
    if (!culprit)
      s.tell(ack_tag, s.first.culprit, 8);
    // The culprit waits for everybody's report; the others wait for it to end the job, a little longer.
    Clock::time_point deadline = after(culprit ? grace_seconds : 2.0 * grace_seconds + 1.0);
    while (Clock::now() < deadline && !(culprit && s.heard >= s.world - 1)) {
      s.listen();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const Failure &) { // MPI itself is broken: what is left is to end
  }
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

} // namespace lf::rt
