#include "model/beside_text.h"

namespace pando::model {
namespace {

struct Part {
  std::string_view prefix;  // of tensor names, with or without "model." before it
  std::string_view name;
};

constexpr std::string_view kProjector = "projector";

constexpr Part kParts[] = {
    {"vision_tower.", "vision tower"},
    {"visual.", "vision tower"},
    {"vision_model.", "vision tower"},
    {"vision_encoder.", "vision tower"},
    {"image_tower.", "vision tower"},
    {"video_tower.", "vision tower"},
    {"visual_embeddings_table.", "vision tower"},
    {"image_newline", "vision tower"},
    {"audio_tower.", "audio tower"},
    {"multi_modal_projector.", kProjector},
    {"vision_projection.", kProjector},
    {"connector.", kProjector},
    {"aligner.", kProjector},
    {"projector.readout.", kProjector},
    {"mlp1.", kProjector},
    {"vqmodel.", "image generator"},
    {"generation_aligner.", "image generator"},
    {"generation_embeddings.", "image generator"},
    {"generation_head.", "image generator"},
};

}  // namespace

std::string_view part_beside_text(std::string_view tensor) {
  constexpr std::string_view kRoot = "model.";
  if (tensor.starts_with(kRoot)) tensor.remove_prefix(kRoot.size());
  for (const Part& part : kParts)
    if (tensor.starts_with(part.prefix)) return part.name;
  return {};
}

}  // namespace pando::model
