#include "model/families/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace pando::model {

bool has_gguf_sections(const GgufFile& gguf, std::string_view architecture) {
  const auto sections = gguf.integers(fmt::format("{}.{}", architecture, kSections));
  return sections.ok() && *sections &&
         std::ranges::any_of(**sections, [](int64_t n) { return n != 0; });
}

}  // namespace pando::model
