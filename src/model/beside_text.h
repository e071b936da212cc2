// The parts of a checkpoint that read images or sounds, beside the text part.
#pragma once

#include <string_view>

namespace pando::model {

// The part that a tensor belongs to by its name, such as "vision tower". Empty: it is not of a part
// for images or sounds.
std::string_view part_beside_text(std::string_view tensor);

}  // namespace pando::model
