// Positions with several parts, which are equal for texts.
#pragma once

#include <string_view>

#include "base/gguf.h"

namespace pando::model {

// Of the parts of a position, as mrope_section.
inline constexpr const char* kSections = "rope.dimension_sections";

// Whether a GGUF file has a part that is not empty.
bool has_gguf_sections(const GgufFile& gguf, std::string_view architecture);

}  // namespace pando::model
