// The parts of a checkpoint that reads images or sounds beside texts.
#pragma once

#include <string_view>

namespace pando::model {

// The part that a tensor of a checkpoint belongs to by its name, "vision tower", where no text
// needs it; empty for all others.
std::string_view part_beside_text(std::string_view tensor);

}  // namespace pando::model
