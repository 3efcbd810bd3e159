// cudnn.cpp - opening libcudnn.so.9, and its descriptors.
#include "kernels/cuda/cudnn.h"

#include <dlfcn.h>

#include <utility>

namespace lf::rt {
namespace {

constexpr size_t oldest = 91400;

struct Library {
  Cudnn api;
  std::string reason; ///< why there is none; empty when there is one
};

Library open_library() {
  Library library;
  void *handle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *text = dlerror();
    library.reason = std::string("expected libcudnn.so.9, got \"") + (text ? text : "nothing") +
                     "\"; install cuDNN 9.14 or newer, or name its folder in LD_LIBRARY_PATH";
    return library;
  }
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (!function)
      library.reason = std::string("expected libcudnn.so.9 to have \"") + name + "\", got a library without it";
  };
  Cudnn &api = library.api;
  find(api.version, "cudnnGetVersion");
  find(api.status_text, "cudnnGetErrorString");
  find(api.last_error, "cudnnGetLastErrorString");
  find(api.create, "cudnnCreate");
  find(api.destroy, "cudnnDestroy");
  find(api.set_stream, "cudnnSetStream");
  find(api.make, "cudnnBackendCreateDescriptor");
  find(api.unmake, "cudnnBackendDestroyDescriptor");
  find(api.set, "cudnnBackendSetAttribute");
  find(api.get, "cudnnBackendGetAttribute");
  find(api.finalize, "cudnnBackendFinalize");
  find(api.execute, "cudnnBackendExecute");
  if (library.reason.empty() && api.version() < oldest)
    library.reason = "expected cuDNN 9.14 or newer, got version " + std::to_string(api.version());
  return library;
}

} // namespace

const Cudnn &cudnn() {
  static const Library library = open_library();
  if (!library.reason.empty())
    throw CudnnRefusal{library.reason};
  return library.api;
}

void Cudnn::check(cudnnStatus_t status, const char *call) const {
  if (status == CUDNN_STATUS_SUCCESS)
    return;
  char words[512] = "";
  last_error(words, sizeof words);
  throw CudnnRefusal{std::string("expected success of ") + call + ", got " + status_text(status) +
                     (words[0] ? std::string(" (") + words + ")" : std::string())};
}

CudnnDescriptor::CudnnDescriptor(const Cudnn &api, cudnnBackendDescriptorType_t type) : api_(&api) {
  api.check(api.make(type, &descriptor_), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_)
    api_->unmake(descriptor_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor &&other) noexcept
    : api_(other.api_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                          const void *values) {
  api_->check(api_->set(descriptor_, name, type, count, values),
              ("cudnnBackendSetAttribute of attribute " + std::to_string(static_cast<int>(name))).c_str());
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor &value) {
  const cudnnBackendDescriptor_t descriptor = value.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

void CudnnDescriptor::finalize(const char *what) {
  api_->check(api_->finalize(descriptor_), (std::string("cudnnBackendFinalize of ") + what).c_str());
}

} // namespace lf::rt
