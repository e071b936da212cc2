#include "text/matcher.h"

#include "base/errors.h"

namespace pando {

Error too_many_steps(size_t at, size_t n_bytes) {
  return unsupported(
      "splitting the text into words failed: the tokenizer's regular expression needs too many "
      "steps at byte {} of {}, expected at most {}",
      at, n_bytes, most_steps(n_bytes));
}

}  // namespace pando
