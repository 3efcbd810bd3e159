// cudnn_graph.h - a graph of cuDNN operations over tensors of four dims, built once and run with any pointers.
//
// Idea: tensors are numbers (cuDNN's unique ids), made before the operations that use them. Every function but the
// queries throws CudnnRefusal.
#pragma once

#include "kernels/cuda/cudnn.h"

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace lf::rt {

class CudnnGraph {
public:
  using Tensor = int64_t;
  using Dims = std::array<int64_t, 4>;

  explicit CudnnGraph(const Cudnn &api) : api_(api) {}

  /// An array in memory, on 16 bytes.
  Tensor array(cudnnDataType_t, Dims dims, Dims strides);
  /// An intermediate that no memory holds.
  Tensor passing(cudnnDataType_t, Dims dims, Dims strides);
  /// One float, kept here.
  Tensor constant(float);

  /// y = mode(x), mode(x, b), or t ? x : b; arithmetic in `precision`. `axis` is for CUDNN_POINTWISE_GEN_INDEX.
  void pointwise(cudnnPointwiseMode_t, Tensor x, Tensor y, int64_t axis = -1);
  void pointwise(cudnnPointwiseMode_t, Tensor x, Tensor b, Tensor y, cudnnDataType_t precision);
  void select(Tensor x, Tensor b, Tensor t, Tensor y);
  void matmul(Tensor a, Tensor b, Tensor c);
  void reduce(cudnnReduceTensorOp_t, Tensor x, Tensor y);
  void reshape(Tensor x, Tensor y);

  /// Chooses an engine: the first of the heuristic's that takes the graph.
  void build(cudnnHandle_t);
  /// Bytes of workspace; after build.
  int64_t workspace() const { return workspace_; }

  using Pointers = std::vector<void *>; ///< of the arrays in the order they were made; the workspace last
  /// Issues the graph on the handle's stream.
  void run(cudnnHandle_t, const Pointers &);

private:
  Tensor tensor(cudnnDataType_t, Dims dims, Dims strides, bool is_virtual, bool by_value);
  CudnnDescriptor &of(Tensor t) { return tensors_[static_cast<size_t>(t - 1)]; }
  CudnnDescriptor &operation(cudnnBackendDescriptorType_t);
  CudnnDescriptor &pointwise_kind(cudnnPointwiseMode_t, cudnnDataType_t precision, int64_t axis);

  const Cudnn &api_;
  std::deque<CudnnDescriptor> tensors_, kinds_, operations_, engines_; ///< a deque's elements stay where they are
  std::vector<Tensor> arrays_, constants_;
  std::deque<float> values_; ///< of the constants
  std::optional<CudnnDescriptor> graph_, plan_;
  int64_t workspace_ = 0;
  std::map<Pointers, CudnnDescriptor> packs_; ///< one for each call site of a program
};

} // namespace lf::rt
