// Texts of a template in pieces that are not cut: marks such as <|im_end|> and [TOOL_CALLS], words,
// and single other characters.
#pragma once

#include <string_view>
#include <vector>

namespace pando::calls {

std::vector<std::string_view> atoms_of(std::string_view text);
// The longest common beginning, or end, of whole atoms.
std::string_view common_begin(std::string_view a, std::string_view b);
std::string_view common_end(std::string_view a, std::string_view b);

}  // namespace pando::calls
