#include "exec/cpu/kv_memory.h"

#include <algorithm>

namespace pando::exec {

bool KvMemory::prepare(size_t n_touched) {
  constexpr size_t kPiece = size_t{2} << 20;
  const size_t begin = std::max(ready_, n_touched * shape_.page_bytes());
  if (begin >= memory_.size()) return false;
  ready_ = std::min((begin / kPiece + 1) * kPiece, memory_.size());
  memory_.populate(begin, ready_);
  return true;
}

size_t KvMemory::ready_bytes(size_t n_touched) const {
  const size_t used = n_touched * shape_.page_bytes();
  return std::max(ready_, used) - used;
}

}  // namespace pando::exec
