#include "exec/gpu/host.h"

#include <utility>

namespace pando::exec::gpu {

Buffer::Buffer(Host& host, size_t n_bytes) : host_(&host), bytes_(n_bytes) {
  if (n_bytes > 0) handle_ = host.allocate(n_bytes);
}

Buffer::~Buffer() {
  if (bytes_ > 0) host_->release(handle_);
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(host_, other.host_);
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
}

}  // namespace pando::exec::gpu
