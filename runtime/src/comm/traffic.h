// traffic.h - bytes that one rank has sent, by communicator and kind, for the metrics and for checks against the plan.
//
// Idea: a fixed table filled by lf_all_gather ... lf_send. Invariant: bytes are those of lf/sent_bytes.h, as in the plan.
#pragma once

#include "lf/sent_bytes.h"
#include "trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lf::rt {

class Traffic {
public:
  struct Row {
    std::string comm; ///< name of lf_comm; "pp" for sends
    OpKind kind;
    int64_t messages = 0; ///< calls
    int64_t bytes = 0;
  };

  /// Adds calls of so many bytes in all. No allocation after the first call of each (comm, kind).
  void add(const std::string &comm, OpKind kind, int64_t bytes, int64_t messages = 1) {
    for (Row &row : rows_)
      if (row.kind == kind && row.comm == comm) {
        row.messages += messages;
        row.bytes += bytes;
        return;
      }
    rows_.push_back({comm, kind, messages, bytes});
  }

  /// In order of first use; groups of one rank send nothing and have no row.
  const std::vector<Row> &rows() const { return rows_; }
  /// Sets every count to zero (each step's metrics start so).
  void reset() {
    for (Row &row : rows_)
      row.messages = row.bytes = 0;
  }

private:
  std::vector<Row> rows_;
};

/// What `after` has more than `before`, its rows some time ago.
inline std::vector<Traffic::Row> difference(std::vector<Traffic::Row> after, const std::vector<Traffic::Row> &before) {
  for (size_t i = 0; i < before.size(); ++i) {
    after[i].messages -= before[i].messages;
    after[i].bytes -= before[i].bytes;
  }
  return after;
}

/// Bytes sent by one member of a group of n in one call of `kind`.
inline int64_t bytes_sent(OpKind kind, int64_t n, int64_t count, int64_t size) {
  switch (kind) {
  case OpKind::AllGather:
  case OpKind::ReduceScatter:
  case OpKind::AllToAll:
    return parts_bytes(n, count, size);
  case OpKind::AllReduce:
    return all_reduce_bytes(n, count, size);
  case OpKind::Send:
    return count * size;
  default:
    return 0;
  }
}

} // namespace lf::rt
