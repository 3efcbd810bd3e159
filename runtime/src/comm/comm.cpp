// comm.cpp - what all back ends share: tracing every call, groups of one, agreement of members.
//
// Idea: a typed call becomes one Call; the back end's run() carries it out between "issued" and "done".
#include "comm/comm.h"

#include <algorithm>
#include <cstring>

namespace lf::rt {

int64_t dtype_size(lf_dtype dtype) { return dtype == LF_F64 ? 8 : dtype == LF_F32 ? 4 : 2; }

std::string join(const std::vector<int32_t> &ranks) {
  std::string text;
  for (int32_t rank : ranks)
    text += (text.empty() ? "" : " ") + std::to_string(rank);
  return text;
}

// ---- Agreement ----------------------------------------------------------------------------------------------------

Header make_header(const Call &call, uint64_t sequence, const Where &at) {
  Header h;
  h.count = call.count;
  h.size = call.size;
  h.sequence = sequence;
  h.kind = call.kind;
  h.dtype = call.dtype;
  h.reduction = call.reduction;
  h.root = call.root;
  h.layer = at.layer;
  h.micro_batch = at.micro_batch;
  copy_name(h.what, call.what);
  copy_name(h.function, at.function);
  return h;
}

bool agree(const Header &a, const Header &b) {
  return a.kind == b.kind && a.count == b.count && a.size == b.size && a.dtype == b.dtype &&
         a.reduction == b.reduction && a.root == b.root && a.sequence == b.sequence && !std::strcmp(a.what, b.what);
}

static std::string in_words(const Header &h) {
  std::string text = std::string(op_name(h.kind)) + " \"" + h.what + "\"";
  if (h.kind == OpKind::AllReduce || h.kind == OpKind::ReduceScatter)
    text += h.reduction == LF_MAX ? " max" : " sum";
  if (h.kind == OpKind::Broadcast || h.kind == OpKind::Gather)
    text += " root " + std::to_string(h.root);
  text += " (count " + std::to_string(h.count) + " of " + std::to_string(h.size) + " bytes, in " + h.function;
  if (h.layer >= 0)
    text += ", layer " + std::to_string(h.layer);
  if (h.micro_batch >= 0)
    text += ", micro-batch " + std::to_string(h.micro_batch);
  return text + ")";
}

std::string disagreement(const std::string &comm, int32_t rank_a, const Header &a, int32_t rank_b, const Header &b) {
  return "expected all ranks of comm \"" + comm + "\" to issue the same collective as number " +
         std::to_string(a.sequence) + ", got " + in_words(a) + " on rank " + std::to_string(rank_a) + ", " +
         in_words(b) + (b.sequence != a.sequence ? " as number " + std::to_string(b.sequence) : "") + " on rank " +
         std::to_string(rank_b) + "; the ranks run different programs or took different branches";
}

// ---- Collectives --------------------------------------------------------------------------------------------------

void Communicator::issue(const Call &call) {
  uint64_t sequence = attached_.trace->issue(*attached_.at, call.kind, call.what, name_.c_str(), call.count);
  if (call.count < 0)
    throw Failure{5, "expected the count of " + std::string(op_name(call.kind)) + " \"" + call.what + "\" of comm \"" +
                         name_ + "\" to be 0 or more, got " + std::to_string(call.count)};
  if (call.root < 0 || call.root >= size())
    throw Failure{5, "expected the root of " + std::string(op_name(call.kind)) + " \"" + call.what + "\" to be below " +
                         std::to_string(size()) + ", the size of comm \"" + name_ + "\", got " +
                         std::to_string(call.root)};
  attached_.trace->mark(sequence, false, call.stream);
  if (size() > 1)
    run(call);
  else if (call.y && call.x != call.y && call.count > 0)
    run_alone(call);
  attached_.trace->mark(sequence, true, call.stream);
  attached_.trace->done(sequence);
}

void Communicator::run_alone(const Call &call) {
  std::memcpy(call.y, call.x, static_cast<size_t>(call.count * call.size));
}

void Communicator::all_gather(const char *what, const void *x, void *y, int64_t count, lf_dtype dtype, int32_t stream) {
  issue({.kind = OpKind::AllGather,
         .what = what,
         .x = x,
         .y = y,
         .count = count,
         .size = dtype_size(dtype),
         .dtype = dtype,
         .stream = stream});
}

void Communicator::reduce_scatter(const char *what, const void *x, void *y, int64_t count, lf_dtype dtype,
                                  lf_reduction reduction, int32_t stream) {
  issue({.kind = OpKind::ReduceScatter,
         .what = what,
         .x = x,
         .y = y,
         .count = count,
         .size = dtype_size(dtype),
         .dtype = dtype,
         .reduction = reduction,
         .stream = stream});
}

void Communicator::all_reduce(const char *what, const void *x, void *y, int64_t count, lf_dtype dtype,
                              lf_reduction reduction, int32_t stream) {
  issue({.kind = OpKind::AllReduce,
         .what = what,
         .x = x,
         .y = y,
         .count = count,
         .size = dtype_size(dtype),
         .dtype = dtype,
         .reduction = reduction,
         .stream = stream});
}

void Communicator::all_to_all(const char *what, const void *x, void *y, int64_t count, lf_dtype dtype, int32_t stream) {
  issue({.kind = OpKind::AllToAll,
         .what = what,
         .x = x,
         .y = y,
         .count = count,
         .size = dtype_size(dtype),
         .dtype = dtype,
         .stream = stream});
}

void Communicator::broadcast(const char *what, void *data, int64_t bytes, int32_t root) {
  issue({.kind = OpKind::Broadcast, .what = what, .x = data, .y = data, .count = bytes, .root = root});
}

void Communicator::gather(const char *what, const void *x, void *y, int64_t bytes, int32_t root) {
  issue({.kind = OpKind::Gather, .what = what, .x = x, .y = y, .count = bytes, .root = root});
}

void Communicator::barrier(const char *what) { issue({.kind = OpKind::Barrier, .what = what}); }

// ---- Point to point -----------------------------------------------------------------------------------------------

static void check_peer(const Call &call, int32_t rank, int32_t world) {
  if (call.peer < 0 || call.peer >= world || call.peer == rank)
    throw Failure{5, "expected the other side of " + std::string(op_name(call.kind)) + " \"" + call.what +
                         "\" to be another rank below " + std::to_string(world) + ", got " + std::to_string(call.peer)};
  if (call.count < 0)
    throw Failure{5, "expected the count of " + std::string(op_name(call.kind)) + " \"" + call.what +
                         "\" to be 0 or more, got " + std::to_string(call.count)};
}

uint64_t Transport::issue(const Call &call) {
  uint64_t sequence =
      attached_.trace->issue(*attached_.at, call.kind, call.what, "", call.count, call.peer, call.tag);
  check_peer(call, rank_, world_);
  attached_.trace->mark(sequence, false, 0);
  return sequence;
}

void Transport::send(const char *what, const void *x, int64_t count, lf_dtype dtype, int32_t peer, int32_t tag) {
  Call call{.kind = OpKind::Send,
            .what = what,
            .x = x,
            .count = count,
            .size = dtype_size(dtype),
            .dtype = dtype,
            .peer = peer,
            .tag = tag};
  uint64_t sequence = issue(call);
  run_send(call);
  attached_.trace->mark(sequence, true, 0);
  attached_.trace->done(sequence);
}

static Call receive(OpKind kind, const char *what, void *y, int64_t count, lf_dtype dtype, int32_t peer, int32_t tag) {
  return {.kind = kind,
          .what = what,
          .y = y,
          .count = count,
          .size = dtype_size(dtype),
          .dtype = dtype,
          .peer = peer,
          .tag = tag};
}

/// "the receive of "stage1 input" from rank 0, tag 2"
static std::string receive_text(const Call &call) {
  return "the receive of \"" + std::string(call.what) + "\" from rank " + std::to_string(call.peer) + ", tag " +
         std::to_string(call.tag);
}

void Transport::recv(const char *what, void *y, int64_t count, lf_dtype dtype, int32_t peer, int32_t tag) {
  Call call = receive(OpKind::Recv, what, y, count, dtype, peer, tag);
  uint64_t sequence = issue(call);
  for (const Call &post : posts_)
    if (post.peer == peer && post.tag == tag)
      throw Failure{5, "expected " + receive_text(post) + ", to be waited for before another one of that rank and tag, "
                                                          "got recv \"" +
                           what + "\""};
  run_recv(call);
  attached_.trace->mark(sequence, true, 0);
  attached_.trace->done(sequence);
}

void Transport::post_recv(const char *what, void *y, int64_t count, lf_dtype dtype, int32_t peer, int32_t tag) {
  Call call = receive(OpKind::PostRecv, what, y, count, dtype, peer, tag);
  uint64_t sequence = issue(call);
  run_post(call);
  posts_.push_back(call);
  attached_.trace->mark(sequence, true, 0);
  attached_.trace->done(sequence);
}

void Transport::wait_recv(const char *what, void *y, int64_t count, lf_dtype dtype, int32_t peer, int32_t tag) {
  Call call = receive(OpKind::Recv, what, y, count, dtype, peer, tag);
  uint64_t sequence = issue(call);
  auto post = std::find_if(posts_.begin(), posts_.end(),
                           [&](const Call &posted) { return posted.peer == peer && posted.tag == tag; });
  if (post == posts_.end())
    throw Failure{5, "expected " + receive_text(call) + ", to be posted before it is waited for, got no post"};
  if (post->y != y || post->count != count || post->dtype != dtype)
    throw Failure{5, "expected a wait for " + receive_text(*post) + ", with the place, count and type of its post (count " +
                         std::to_string(post->count) + "), got other ones (count " + std::to_string(count) + ")"};
  posts_.erase(post);
  run_wait(call);
  attached_.trace->mark(sequence, true, 0);
  attached_.trace->done(sequence);
}

void Transport::check_no_posts() const {
  if (!posts_.empty())
    throw Failure{5, "expected " + receive_text(posts_.front()) +
                         ", to be waited for before the end of the step that posted it, got the end"};
}

} // namespace lf::rt
