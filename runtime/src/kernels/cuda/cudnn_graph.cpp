// cudnn_graph.cpp - building and running a graph of cuDNN operations.
#include "kernels/cuda/cudnn_graph.h"

#include <algorithm>

namespace lf::rt {
namespace {

constexpr int64_t most_engines = 8;
constexpr size_t most_packs = 4096; ///< beyond that a program's pointers do not repeat

} // namespace

// ---- Tensors ------------------------------------------------------------------------------------------------------

CudnnGraph::Tensor CudnnGraph::tensor(cudnnDataType_t type, Dims dims, Dims strides, bool is_virtual, bool by_value) {
  const Tensor id = static_cast<Tensor>(tensors_.size()) + 1;
  const int64_t alignment = 16;
  CudnnDescriptor &t = tensors_.emplace_back(api_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data());
  t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
  t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  t.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value);
  t.finalize("a tensor");
  return id;
}

CudnnGraph::Tensor CudnnGraph::array(cudnnDataType_t type, Dims dims, Dims strides) {
  return arrays_.emplace_back(tensor(type, dims, strides, false, false));
}

CudnnGraph::Tensor CudnnGraph::passing(cudnnDataType_t type, Dims dims, Dims strides) {
  return tensor(type, dims, strides, true, false);
}

CudnnGraph::Tensor CudnnGraph::constant(float value) {
  values_.push_back(value);
  return constants_.emplace_back(tensor(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true));
}

// ---- Operations ---------------------------------------------------------------------------------------------------

CudnnDescriptor &CudnnGraph::operation(cudnnBackendDescriptorType_t type) {
  return operations_.emplace_back(api_, type);
}

CudnnDescriptor &CudnnGraph::pointwise_kind(cudnnPointwiseMode_t mode, cudnnDataType_t precision, int64_t axis) {
  CudnnDescriptor &kind = kinds_.emplace_back(api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
  if (axis >= 0)
    kind.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  kind.finalize("a pointwise function");
  return kind;
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor y, int64_t axis) {
  CudnnDescriptor &o = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise_kind(mode, CUDNN_DATA_FLOAT, axis));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, of(x));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of(y));
  o.finalize("a pointwise operation");
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b, Tensor y, cudnnDataType_t precision) {
  CudnnDescriptor &o = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise_kind(mode, precision, -1));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, of(x));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, of(b));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of(y));
  o.finalize("a pointwise operation");
}

void CudnnGraph::select(Tensor x, Tensor b, Tensor t, Tensor y) {
  CudnnDescriptor &o = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
        pointwise_kind(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, -1));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, of(x));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, of(b));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, of(t));
  o.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of(y));
  o.finalize("a selection");
}

void CudnnGraph::matmul(Tensor a, Tensor b, Tensor c) {
  const cudnnDataType_t precision = CUDNN_DATA_FLOAT;
  CudnnDescriptor &kind = kinds_.emplace_back(api_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, precision);
  kind.finalize("a product");
  CudnnDescriptor &o = operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  o.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, of(a));
  o.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, of(b));
  o.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, of(c));
  o.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
  o.finalize("a product");
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t by, Tensor x, Tensor y) {
  const cudnnDataType_t precision = CUDNN_DATA_FLOAT;
  CudnnDescriptor &kind = kinds_.emplace_back(api_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, by);
  kind.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, precision);
  kind.finalize("a reduction");
  CudnnDescriptor &o = operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  o.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, of(x));
  o.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, of(y));
  o.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
  o.finalize("a reduction");
}

void CudnnGraph::reshape(Tensor x, Tensor y) {
  CudnnDescriptor &o = operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  o.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, of(x));
  o.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, of(y));
  o.finalize("a reshape");
}

// ---- Plan ---------------------------------------------------------------------------------------------------------

void CudnnGraph::build(cudnnHandle_t handle) {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor &o : operations_)
    operations.push_back(o.get());
  graph_.emplace(api_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(operations.size()),
              operations.data());
  graph_->finalize("the graph");

  CudnnDescriptor heuristic(api_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph_);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  heuristic.finalize("the heuristic");
  std::vector<cudnnBackendDescriptor_t> results;
  for (int64_t i = 0; i < most_engines; ++i)
    results.push_back(engines_.emplace_back(api_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  int64_t found = 0;
  api_.check(api_.get(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most_engines,
                      &found, results.data()),
             "cudnnBackendGetAttribute of engines");
  std::string reason = "no engine";
  for (int64_t i = 0; i < std::min(found, most_engines); ++i) {
    plan_.emplace(api_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    try {
      plan_->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
      plan_->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engines_[static_cast<size_t>(i)]);
      plan_->finalize("a plan");
      int64_t one = 0;
      api_.check(
          api_.get(plan_->get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &one, &workspace_),
          "cudnnBackendGetAttribute of the workspace");
      return;
    } catch (const CudnnRefusal &refusal) {
      reason = refusal.message;
    }
  }
  plan_.reset();
  throw CudnnRefusal{reason};
}

void CudnnGraph::run(cudnnHandle_t handle, const Pointers &pointers) {
  auto known = packs_.find(pointers);
  if (known == packs_.end()) {
    if (packs_.size() >= most_packs)
      packs_.clear();
    std::vector<int64_t> ids(arrays_.begin(), arrays_.end());
    std::vector<void *> data(pointers.begin(), pointers.end() - 1);
    ids.insert(ids.end(), constants_.begin(), constants_.end());
    for (float &value : values_)
      data.push_back(&value);
    void *workspace = pointers.back();
    CudnnDescriptor pack(api_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, static_cast<int64_t>(ids.size()), ids.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(data.size()),
             data.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finalize("the pointers");
    known = packs_.emplace(pointers, std::move(pack)).first;
  }
  api_.check(api_.execute(handle, plan_->get(), known->second.get()), "cudnnBackendExecute");
}

} // namespace lf::rt
