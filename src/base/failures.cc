#include "base/failures.h"

#include <new>

#include "base/errors.h"

namespace pando {

Error cannot_start(std::string_view what, std::string_view reason) {
  return make_error(ErrorCode::kUnavailable, "cannot start {}: {}", what, reason);
}

std::string reason_of(const std::exception& error) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return is_memory ? "not enough memory" : error.what();
}

}  // namespace pando
