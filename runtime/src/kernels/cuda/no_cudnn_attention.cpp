// no_cudnn_attention.cpp - in place of cudnn_attention.cpp where the headers of cuDNN were not found.
#include "kernels/cuda/cudnn_attention.h"

#include <cstdio>
#include <mutex>

namespace lf::rt {

static bool notice(const char *what) {
  static std::once_flag once;
  std::call_once(once, [what] {
    std::fprintf(stderr,
                 "notice: \"%s\" and its like run without cuDNN, more slowly: this liblf_runtime_cuda was "
                 "built without cudnn_backend.h; install cuDNN 9.14 or newer and build it again\n",
                 what);
  });
  return false;
}

bool cudnn_attention(lf_rank *, const char *what, const AttentionShape &, const void *, const void *, const void *,
                     void *, void *) {
  return notice(what);
}

bool cudnn_attention_grad(lf_rank *, const char *what, const AttentionShape &, const void *, const void *, const void *,
                          const void *, const void *, const void *, void *, void *, void *) {
  return notice(what);
}

} // namespace lf::rt
