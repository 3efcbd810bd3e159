// cudnn.h - the part of libcudnn.so.9 that runs graphs, found when a program first wants it.
//
// Idea: a program has no need of cuDNN to start, so it is opened by name; whoever asks gets it, or the reason why not.
#pragma once

#include <cudnn_backend.h>

#include <string>
#include <vector>

namespace lf::rt {

/// cuDNN cannot do what was asked: for the caller to choose another way.
struct CudnnRefusal {
  std::string message;
};

struct Cudnn {
  decltype(&::cudnnGetVersion) version = nullptr;
  decltype(&::cudnnGetErrorString) status_text = nullptr;
  decltype(&::cudnnGetLastErrorString) last_error = nullptr;
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) make = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) unmake = nullptr;
  decltype(&::cudnnBackendSetAttribute) set = nullptr;
  decltype(&::cudnnBackendGetAttribute) get = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;

  /// Throws CudnnRefusal with cuDNN's own words unless the status is success.
  void check(cudnnStatus_t, const char *call) const;
};

/// The library of this process; CudnnRefusal when there is none, or one older than 9.14.
const Cudnn &cudnn();

/// One backend descriptor.
class CudnnDescriptor {
public:
  CudnnDescriptor(const Cudnn &, cudnnBackendDescriptorType_t);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor &&) noexcept;
  CudnnDescriptor(const CudnnDescriptor &) = delete;
  CudnnDescriptor &operator=(const CudnnDescriptor &) = delete;

  cudnnBackendDescriptor_t get() const { return descriptor_; }
  void set(cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t count, const void *values);
  template <class T> void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T &value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t, const CudnnDescriptor &);
  void finalize(const char *what);

private:
  const Cudnn *api_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

} // namespace lf::rt
