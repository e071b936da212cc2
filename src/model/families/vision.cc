#include "model/families/vision.h"

namespace pando::model {

std::string_view vision_part(const ModelConfig&, std::string_view tensor) {
  for (const std::string_view root : {"", "model."}) {
    if (!tensor.starts_with(root)) continue;
    const std::string_view name = tensor.substr(root.size());
    if (name.starts_with("vision_tower.") || name.starts_with("visual.")) return "vision tower";
    if (name.starts_with("multi_modal_projector.")) return "projector of images";
  }
  return {};
}

}  // namespace pando::model
