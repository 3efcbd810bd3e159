//===- checkpoint_fit.cpp - Whether a checkpoint fits a program -----------===//
//
// See checkpoint_fit.h.
//
//===----------------------------------------------------------------------===//
#include "checkpoint_fit.h"

#include "../comm/mesh.h"
#include "real.h"
#include "shard.h"
#include "../text.h"

#include <algorithm>
#include <set>

namespace lf::rt {

using nlohmann::json;

namespace {

std::string shown(const json &value) { return value.is_null() ? "the default" : value.dump().substr(0, 60); }

json member(const json &of, const json::json_pointer &at) { return of.contains(at) ? of[at] : json(); }

json member(const json &of, const char *pointer) { return member(of, json::json_pointer(pointer)); }

/// The items of the stages, "Ett|ttL": however the layout is spelled.
json stages_of(const json &plan) {
  json stages = member(plan, "/stages"), items = json::array();
  if (!stages.is_array())
    return member(plan, "/layout");
  for (const json &stage : stages)
    items.push_back(member(stage, "/items"));
  return items;
}

/// The first decision of a user that differs; empty when only what follows from such differs.
std::string difference(const json &mine, const json &theirs) {
  auto said = [](const std::string &what, const json &here, const json &there) {
    return what + " is " + shown(here) + " here and " + shown(there) + " there";
  };
  for (const char *group : {"/model", "/sizes"}) {
    std::set<std::string> names;
    for (const json &plan : {mine, theirs})
      if (json members = member(plan, group); members.is_object())
        for (const auto &[name, value] : members.items())
          names.insert(name);
    names.erase("parameters"), names.erase("world"), names.erase("vpp"); // follow from the others
    for (const std::string &name : names) {
      const json::json_pointer pointer = json::json_pointer(group) / name;
      if (json here = member(mine, pointer), there = member(theirs, pointer); here != there)
        return said(quote(pointer.to_string()) + " of plan.json", here, there);
    }
  }
  for (const char *flag : {"mtp-num-layers", "make-vocab-size-divisible-by", "fp32", "bf16", "fp64", "target"})
    if (json here = member(mine, (std::string("/options/") + flag).c_str()),
        there = member(theirs, (std::string("/options/") + flag).c_str());
        here != there)
      return said(quote(std::string("--") + flag), here, there);
  const json mine_by = member(mine, "/schedule"), theirs_by = member(theirs, "/schedule");
  const bool schedules = mine_by != theirs_by,
             places = schedules && (mine_by == "zb-v" || theirs_by == "zb-v"); // has its own
  if (!places && stages_of(mine) != stages_of(theirs) && member(mine, "/layout") == member(theirs, "/layout"))
    return said(quote("/stages") + " of plan.json", stages_of(mine), stages_of(theirs));
  if (!places && stages_of(mine) != stages_of(theirs))
    return said(quote("/layout") + " of plan.json", member(mine, "/layout"), member(theirs, "/layout"));
  if (schedules)
    return said(quote("/schedule") + " of plan.json", mine_by, theirs_by);
  return "";
}

} // namespace

json plan_of(const lf_program &program) {
  json plan = json::parse(program.plan ? program.plan : "", nullptr, false);
  return plan.is_discarded() ? json() : plan;
}

json places_of(const lf_program &program, int32_t rank) {
  json mesh = json::array(), tensors = json::array();
  for (int32_t a = 0; a < program.num_axes; ++a)
    mesh.push_back({program.axes[a].name, program.axes[a].size});
  const std::vector<int32_t> coordinates = mesh_coordinates(program, rank);
  for (const Piece &piece : pieces_of(program, group_index(program, coordinates, program.pp))) {
    const Shard shard = make_shard(program, *piece.param, coordinates);
    auto extents = [&](const int64_t *of) { return std::vector<int64_t>(of, of + shard.ndim); };
    tensors.push_back(
        {piece.name(), piece.offset, extents(shard.local), extents(shard.valid), extents(shard.stride), shard.base});
  }
  return {{"mesh", mesh},
          {"type", main_dtype(program) == LF_F64 ? "float64" : "float32"},
          {"seq_length", program.seq_length},
          {"global_batch", program.micro_batch * program.micro_batches * group_size(program, program.dp)},
          {"tensors", tensors}};
}

std::string misfit(const json &header, const lf_program &program, int32_t rank) {
  const json mine = plan_of(program), theirs = header.value("plan", json());
  const json here = places_of(program, rank), there = header.value("places", json());
  if (json a = member(mine, "/model"), b = member(theirs, "/model"); here == there && a == b)
    return "";
  if (there.is_null() && mine == theirs)
    return ""; // of a version that wrote only the plan
  if (std::string first = difference(mine, theirs); !first.empty())
    return first;
  for (auto [name, flag] : {std::pair("/seq_length", "--seq-length"), {"/global_batch", "--global-batch-size"}})
    if (json a = member(here, name), b = member(there, name); a != b)
      return quote(flag) + " is " + shown(a) + " here and " + (b.is_null() ? "unknown" : shown(b)) + " there";
  const json others = member(there, "/tensors");
  for (const json &tensor : here["tensors"])
    if (std::find(others.begin(), others.end(), tensor) == others.end())
      return "the place of tensor " + quote(tensor[0].get<std::string>()) + " differs";
  return "the mesh, or the type of the weights, differs";
}

} // namespace lf::rt
