// context.cpp - one rank: its place, its arenas, and the calls of runtime.h that order and move data.
//
// Idea: a call looks its communicator up, counts the bytes and lets the Communicator do the rest; memory and events are
// the device's.
#include "context.h"

#include "device/device.h"

#include <algorithm>
#include <iterator>

namespace lf::rt {

void place_rank(lf_rank &c, const lf_program &program, int32_t rank) {
  c.program = &program;
  c.rank = rank;
  c.world = static_cast<int32_t>(mesh_size(program));
  c.coordinates = mesh_coordinates(program, rank);
  c.pp = group_index(program, c.coordinates, program.pp);
  c.trace = std::make_shared<Trace>();
  c.traffic = std::make_shared<Traffic>();
}

void connect_rank(lf_rank &c, std::shared_ptr<Transport> transport) {
  c.transport = std::move(transport);
  c.comms.clear();
  for (int32_t i = 0; i < c.program->num_comms; ++i)
    c.comms.push_back(
        c.transport->make_group(c.program->comms[i].name, group_members(*c.program, c.rank, c.program->comms[i].axes)));
  for (int32_t i = 0; i < c.program->num_messages; ++i) {
    const lf_message &m = c.program->messages[i];
    if (m.from != c.pp && m.to != c.pp)
      continue;
    const int32_t pp = m.from == c.pp ? m.to : m.from, size = group_size(*c.program, c.program->pp);
    if (pp == c.pp || pp < 0 || pp >= size)
      throw Failure{2, "expected message " + std::to_string(i) + " of the program to connect two pipeline ranks below " +
                           std::to_string(size) + ", got " + std::to_string(m.from) + " and " + std::to_string(m.to)};
    c.transport->open_channel(group_peer(*c.program, c.rank, c.program->pp, pp), m.tag, m.from == c.pp,
                              m.count * dtype_size(m.type));
  }
}

// ---- Arenas -------------------------------------------------------------------------------------------------------

static void map_arena(lf_rank &c, lf_arena_kind kind, const char *name, int64_t bytes) {
  if (bytes < 0)
    throw Failure{2, "expected the planned bytes of \"" + std::string(name) + "\" of pipeline rank " +
                         std::to_string(c.pp) + " to be 0 or more, got " + std::to_string(bytes)};
  // Never empty, so that every arena has a base.
  std::shared_ptr<void> memory = map_zeroed(c, std::max<int64_t>(bytes, 64));
  if (!memory)
    throw Failure{3, "expected " + std::to_string(bytes) + " bytes of memory for \"" + name + "\" of rank " +
                         std::to_string(c.rank) + ", got a refusal by the system after " +
                         std::to_string(arena_bytes(c)) + " bytes; use more ranks, a smaller micro-batch or recompute"};
  c.arenas[kind] = memory.get();
  c.arena_owners[kind] = std::move(memory);
  c.arena_bytes[kind] = bytes;
}

void allocate_arenas(lf_rank &c) {
  if (!c.program->memory)
    return;
  const lf_memory &m = c.program->memory[c.pp];
  map_arena(c, LF_PARAMETERS, "parameters", m.parameters);
  map_arena(c, LF_GRADIENTS, "gradients", m.gradients);
  const int64_t master = c.program->dtype == LF_BF16 ? m.parameters / dtype_size(LF_BF16) * dtype_size(LF_F32) : 0;
  map_arena(c, LF_MOMENT1, "optimizer", (m.optimizer - master) / 2);
  map_arena(c, LF_MOMENT2, "optimizer", (m.optimizer - master) - (m.optimizer - master) / 2);
  if (c.program->dtype == LF_BF16) {
    map_arena(c, LF_MASTER, "master weights", master);
  } else {
    c.arenas[LF_MASTER] = c.arenas[LF_PARAMETERS];
    c.arena_bytes[LF_MASTER] = c.arena_bytes[LF_PARAMETERS];
  }
  map_arena(c, LF_SAVED, "saved", m.saved);
  map_arena(c, LF_WORKSPACE, "workspace", m.workspace);
}

int64_t arena_bytes(const lf_rank &c) {
  int64_t sum = 0;
  for (size_t kind = 0; kind < std::size(c.arena_bytes); ++kind)
    if (c.arena_owners[kind]) // the master weights may be the parameters
      sum += c.arena_bytes[kind];
  return sum;
}

// ---- Collectives --------------------------------------------------------------------------------------------------

static Communicator &group(lf_rank *c, int32_t comm, const char *what, OpKind kind, int64_t count,
                           lf_dtype type) {
  if (comm < 0 || comm >= static_cast<int32_t>(c->comms.size()))
    throw Failure{5, "expected the comm of " + std::string(op_name(kind)) + " \"" + what + "\" to be below " +
                         std::to_string(c->comms.size()) + ", got " + std::to_string(comm)};
  Communicator &group = *c->comms[comm];
  if (group.size() > 1)
    c->traffic->add(group.name(), kind, bytes_sent(kind, group.size(), count, dtype_size(type)));
  return group;
}

static int32_t pipeline_peer(lf_rank *c, const char *what, int32_t pp) {
  int32_t size = group_size(*c->program, c->program->pp);
  if (pp < 0 || pp >= size)
    throw Failure{5, "expected the pipeline rank on the other side of \"" + std::string(what) + "\" to be below " +
                         std::to_string(size) + ", got " + std::to_string(pp)};
  return group_peer(*c->program, c->rank, c->program->pp, pp);
}

} // namespace lf::rt

using namespace lf::rt;

int32_t lf_coordinate(lf_rank *c, lf_axes axes) { return group_index(*c->program, c->coordinates, axes); }

void *lf_arena(lf_rank *c, lf_arena_kind kind) { return c->arenas[kind]; }

void lf_enter(lf_rank *c, const char *function, int32_t layer, int32_t micro_batch) {
  c->at = {function, layer, micro_batch};
  c->trace->mark(c->trace->issue(c->at, OpKind::Enter, function, "", 0), false, 0);
  name_range(*c, c->at);
  c->transport->poll();
}

static void check_stream(const lf_rank *c, const char *call, int32_t stream) {
  if (stream < 0 || stream > c->program->num_comms)
    throw Failure{5, "expected the stream of " + std::string(call) + " to be 0 to " +
                         std::to_string(c->program->num_comms) + ", the number of comms, got " +
                         std::to_string(stream)};
}

lf_event lf_record(lf_rank *c, int32_t stream) {
  check_stream(c, "lf_record", stream);
  record_event(*c, c->next_event, stream);
  return c->next_event++;
}

void lf_wait(lf_rank *c, int32_t stream, lf_event event) {
  if (event < 0 || event >= c->next_event)
    throw Failure{5, "expected stream " + std::to_string(stream) + " to wait for one of the " +
                         std::to_string(c->next_event) + " events recorded so far, got event " + std::to_string(event)};
  check_stream(c, "lf_wait", stream);
  wait_event(*c, stream, event);
}

void lf_all_gather(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_dtype type, int32_t comm,
                   int32_t stream) {
  group(c, comm, what, OpKind::AllGather, count, type).all_gather(what, x, y, count, type, stream);
}

void lf_reduce_scatter(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_dtype type,
                       lf_reduction reduction, int32_t comm, int32_t stream) {
  group(c, comm, what, OpKind::ReduceScatter, count, type).reduce_scatter(what, x, y, count, type, reduction, stream);
}

void lf_all_reduce(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_dtype type,
                   lf_reduction reduction, int32_t comm, int32_t stream) {
  group(c, comm, what, OpKind::AllReduce, count, type).all_reduce(what, x, y, count, type, reduction, stream);
}

void lf_all_to_all(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_dtype type, int32_t comm,
                   int32_t stream) {
  group(c, comm, what, OpKind::AllToAll, count, type).all_to_all(what, x, y, count, type, stream);
}

void lf_send(lf_rank *c, const char *what, const void *x, int64_t count, lf_dtype type, int32_t pp, int32_t tag) {
  int32_t peer = pipeline_peer(c, what, pp);
  c->traffic->add("pp", OpKind::Send, bytes_sent(OpKind::Send, 2, count, dtype_size(type)));
  c->transport->send(what, x, count, type, peer, tag);
}

void lf_recv(lf_rank *c, const char *what, void *y, int64_t count, lf_dtype type, int32_t pp, int32_t tag) {
  c->transport->recv(what, y, count, type, pipeline_peer(c, what, pp), tag);
}

void lf_post_recv(lf_rank *c, const char *what, void *y, int64_t count, lf_dtype type, int32_t pp, int32_t tag) {
  c->transport->post_recv(what, y, count, type, pipeline_peer(c, what, pp), tag);
}

void lf_wait_recv(lf_rank *c, const char *what, void *y, int64_t count, lf_dtype type, int32_t pp, int32_t tag) {
  c->transport->wait_recv(what, y, count, type, pipeline_peer(c, what, pp), tag);
}
