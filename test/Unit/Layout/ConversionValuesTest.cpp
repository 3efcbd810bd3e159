//===- ConversionValuesTest.cpp - Conversions move the right numbers ------===//
//
// All ranks in lockstep: a value is laid out, converted step by step, and compared with the value laid out anew.
// Partial values are compared after their reduction, which is all that a partial value means.
//
//===----------------------------------------------------------------------===//
#include "Matchers.h"
#include <algorithm>
#include <limits>
#include <random>

using namespace lf;

namespace {

const Mesh mesh({{"a", 2}, {"b", 3}, {"c", 2}});
const std::vector<std::string> axisNames{"a", "b", "c"};

struct Array {
  Shape shape;
  std::vector<double> data;
};
using Ranks = std::vector<Array>;

int64_t elements(const Shape &s) {
  int64_t n = 1;
  for (int64_t x : s)
    n *= x;
  return n;
}

/// Part i of n equal parts along one dim.
Array part(const Array &x, int dim, int64_t n, int64_t i) {
  Array out{x.shape, {}};
  out.shape[dim] /= n;
  const int64_t inner = elements(Shape(x.shape.begin() + dim + 1, x.shape.end())), rows = x.shape[dim];
  for (int64_t o = 0; o < elements(Shape(x.shape.begin(), x.shape.begin() + dim)); ++o)
    for (int64_t r = 0; r < out.shape[dim]; ++r)
      for (int64_t k = 0; k < inner; ++k)
        out.data.push_back(x.data[(o * rows + i * out.shape[dim] + r) * inner + k]);
  return out;
}

Array concat(const std::vector<const Array *> &xs, int dim) {
  Array out{xs[0]->shape, {}};
  const int64_t inner = elements(Shape(out.shape.begin() + dim + 1, out.shape.end())) * out.shape[dim];
  const int64_t outer = elements(Shape(out.shape.begin(), out.shape.begin() + dim));
  out.shape[dim] *= int64_t(xs.size());
  for (int64_t o = 0; o < outer; ++o)
    for (const Array *x : xs)
      out.data.insert(out.data.end(), x->data.begin() + o * inner, x->data.begin() + (o + 1) * inner);
  return out;
}

Array flattened(const Array &x, int64_t shards) {
  Array out{{(elements(x.shape) + shards - 1) / shards * shards}, x.data};
  out.data.resize(out.shape[0], 0.0);
  return out;
}

double neutral(Reduction r) { return r == Reduction::max ? -std::numeric_limits<double>::infinity() : 0.0; }

Array reduced(const std::vector<const Array *> &xs, Reduction kind) {
  Array out = *xs[0];
  for (size_t q = 1; q < xs.size(); ++q)
    for (size_t i = 0; i < out.data.size(); ++i)
      out.data[i] = kind == Reduction::max ? std::max(out.data[i], xs[q]->data[i]) : out.data[i] + xs[q]->data[i];
  return out;
}

/// One step on all ranks. `at` is the layout before the step, `shape` the shape of the whole value.
Ranks apply(const Step &s, const Layout &at, const Shape &shape, const Ranks &xs) {
  Ranks out(xs.size());
  if (s.kind == StepKind::allToAll) {
    Ranks now = xs;
    for (const Step::Move &m : s.moves) {
      for (const auto &group : mesh.groups(m.axes))
        for (size_t i = 0; i < group.size(); ++i) {
          Ranks pieces;
          std::vector<const Array *> all;
          for (int64_t q : group)
            pieces.push_back(part(now[q], m.to, int64_t(group.size()), int64_t(i)));
          for (const Array &p : pieces)
            all.push_back(&p);
          out[group[i]] = concat(all, m.from);
        }
      now = out;
    }
    return out;
  }
  const bool flat = s.dim == int(at.dims.size());
  for (const auto &group : mesh.groups(s.axes)) {
    std::vector<const Array *> all;
    for (int64_t q : group)
      all.push_back(&xs[q]);
    const int64_t n = int64_t(group.size());
    for (int64_t i = 0; i < n; ++i) {
      Array x = xs[group[i]];
      switch (s.kind) {
      case StepKind::mask:
        if (i)
          std::fill(x.data.begin(), x.data.end(), neutral(s.reduction));
        break;
      case StepKind::allReduce:
        x = reduced(all, s.reduction);
        break;
      case StepKind::reduceScatter:
        x = reduced(all, s.reduction);
        [[fallthrough]];
      case StepKind::slice:
        x = flat ? part(flattened(x, n), 0, n, i) : part(x, s.dim, n, i);
        break;
      case StepKind::allGather:
        x = concat(all, flat ? 0 : s.dim);
        if (flat) {
          x.shape = mesh.localShape(shape, at);
          x.data.resize(elements(x.shape));
        }
        break;
      case StepKind::allToAll:
        break;
      }
      out[group[i]] = std::move(x);
    }
  }
  return out;
}

/// The value as each rank holds it. Terms of a partial value are random; together they give `x`.
Ranks lay(const Array &x, const Layout &l, std::mt19937 &random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const Axes over(l.partial.begin(), l.partial.end());
  const int64_t terms = mesh.size(over);
  Ranks term(terms, x);
  for (size_t i = 0; i < x.data.size() && terms > 1; ++i) {
    const int64_t owner = int64_t(random() % terms);
    for (int64_t t = 0; t < terms; ++t)
      if (t != owner && l.kind == Reduction::max)
        term[t].data[i] = x.data[i] - 2 - uniform(random);
      else if (t != owner)
        term[owner].data[i] -= term[t].data[i] = uniform(random);
  }
  Ranks out;
  for (int64_t r = 0; r < mesh.world(); ++r) {
    Array y = term[mesh.index(r, over)];
    for (size_t d = 0; d < l.dims.size(); ++d)
      y = part(y, int(d), mesh.size(l.dims[d]), mesh.index(r, l.dims[d]));
    if (!l.flat.empty())
      y = part(flattened(y, mesh.size(l.flat)), 0, mesh.size(l.flat), mesh.index(r, l.flat));
    out.push_back(std::move(y));
  }
  return out;
}

Ranks finished(const Ranks &xs, const Layout &l) {
  if (l.partial.empty())
    return xs;
  return apply({StepKind::allReduce, Axes(l.partial.begin(), l.partial.end()), -1, {}, l.kind}, l, {}, xs);
}

Layout randomLayout(size_t rank, std::mt19937 &random) {
  Layout l = Layout::whole(rank);
  Axes order = axisNames;
  std::shuffle(order.begin(), order.end(), random);
  for (const std::string &a : order) {
    const size_t place = random() % (rank + 3);
    if (place < rank)
      l.dims[place].push_back(a);
    else if (place == rank)
      l.partial.insert(a);
    else if (place == rank + 1)
      l.flat.push_back(a);
  }
  if (!l.partial.empty() && random() % 2)
    l.kind = Reduction::max;
  return l;
}

TEST(ConversionValues, RandomPairs) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const Shape shape{12, 12, 12};
  int used[6] = {}, pairs = 0;
  for (int trial = 0; trial < 300; ++trial) {
    Layout src = randomLayout(3, random), dst = randomLayout(3, random);
    if (!src.partial.empty() && !dst.partial.empty())
      dst.kind = src.kind;
    SCOPED_TRACE(src.str() + " -> " + dst.str());
    Array x{shape, {}};
    for (int64_t i = 0; i < elements(shape); ++i)
      x.data.push_back(uniform(random));
    Ranks now = lay(x, src, random);
    Layout at = src;
    for (const Step &s : conversion(src, dst)) {
      ++used[int(s.kind)];
      now = apply(s, at, shape, now);
      at = after(at, s);
      for (const Array &piece : now) // every intermediate has the size that the plan for memory assumes
        ASSERT_EQ(elements(piece.shape), mesh.localElements(shape, at)) << at.str();
    }
    ASSERT_EQ(at, dst);
    const Ranks got = finished(now, dst), want = finished(lay(x, dst, random), dst);
    for (int64_t r = 0; r < mesh.world(); ++r) {
      ASSERT_EQ(got[r].data.size(), want[r].data.size());
      for (size_t i = 0; i < got[r].data.size(); ++i)
        ASSERT_NEAR(got[r].data[i], want[r].data[i], 1e-12) << "rank " << r << " element " << i;
    }
    ++pairs;
  }
  EXPECT_EQ(pairs, 300);
  for (int kind = 0; kind < 6; ++kind)
    EXPECT_GT(used[kind], 20) << name(StepKind(kind));
}

// 5 x 7 elements over 2 x 3 ranks: nothing divides, and only `flat` pads.
TEST(ConversionValues, FlatPadding) {
  std::mt19937 random(3);
  Array x{{5, 7}, {}};
  for (int i = 0; i < 35; ++i)
    x.data.push_back(i + 1);
  const Layout whole = Layout::whole(2), flat{{{}, {}}, {}, {}, {"a", "b"}}, other{{{}, {}}, {}, {}, {"b"}};
  const Layout terms{{{}, {}}, {"b"}, Reduction::sum, {}};
  for (const auto &[src, dst] : std::vector<std::pair<Layout, Layout>>{
           {whole, flat}, {flat, whole}, {terms, flat}, {flat, other}, {other, flat}, {flat, terms}}) {
    SCOPED_TRACE(src.str() + " -> " + dst.str());
    Ranks now = lay(x, src, random);
    Layout at = src;
    for (const Step &s : conversion(src, dst)) {
      now = apply(s, at, x.shape, now);
      at = after(at, s);
    }
    const Ranks got = finished(now, dst), want = finished(lay(x, dst, random), dst);
    for (int64_t r = 0; r < mesh.world(); ++r) {
      ASSERT_EQ(got[r].data.size(), want[r].data.size());
      for (size_t i = 0; i < got[r].data.size(); ++i)
        ASSERT_NEAR(got[r].data[i], want[r].data[i], 1e-12) << "rank " << r << " element " << i;
    }
  }
}

} // namespace
