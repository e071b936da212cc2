#include "base/ranges.h"

#include <fmt/format.h>

namespace pando {

std::string WholeRange::text() const {
  return multiple == 1 ? fmt::format("an integer in [{}, {}]", min, max)
                       : fmt::format("a multiple of {} in [{}, {}]", multiple, min, max);
}

}  // namespace pando
