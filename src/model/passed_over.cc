#include "model/passed_over.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "model/beside_text.h"
#include "model/family.h"
#include "model/gguf_classifier.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

// "3" and "mlp.up_proj.weight" of a tensor of layer 3; -1 and nothing of others.
std::pair<int, std::string_view> layer_and_part(std::string_view name) {
  for (const std::string_view before : {"model.layers.", "blk."}) {
    if (!name.starts_with(before)) continue;
    int layer = -1;
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + before.size(), end, layer);
    if (error == std::errc() && at != end && *at == '.')
      return {layer, name.substr(static_cast<size_t>(at + 1 - name.data()))};
  }
  return {-1, {}};
}

// "layers 3, 7, 11, ..."
std::string attention_layers(const ModelConfig& config) {
  constexpr size_t kMost = 3;
  std::vector<std::string> found;
  for (int layer = 0; layer < config.n_layers() && found.size() <= kMost; ++layer)
    if (config.layers[layer].mixer == Mixer::kAttention)
      found.push_back(found.size() < kMost ? std::to_string(layer) : "...");
  return fmt::format("layer{} {}", found.size() == 1 ? "" : "s", fmt::join(found, ", "));
}

// True if a layer of another kind would have this tensor: the configuration may give the kinds
// wrongly, or not at all.
bool is_of_other_kind(const ModelConfig& config, std::string_view name) {
  const auto [own, own_part] = layer_and_part(name);
  const std::string_view part = own_part;
  if (own < 0 || own >= config.n_layers()) return false;
  for (int layer = 0; layer < config.n_layers(); ++layer) {
    const LayerConfig &one = config.layers[layer], &other = config.layers[own];
    if (one.mixer == other.mixer &&
        (one.mixer != Mixer::kNone || one.feed_forward == other.feed_forward))
      continue;
    const auto is_part = [&](std::string_view name) { return layer_and_part(name).second == part; };
    for (const WeightSpec& spec : config.family->layer_weights(config, layer))
      if (is_part(spec.name) || is_part(spec.gguf_name) ||
          std::ranges::any_of(spec.parts, is_part, &TensorPart::name))
        return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> passed_over_parts(const ModelConfig& config,
                                                   const Checkpoint& checkpoint) {
  std::set<std::string> known;
  for (const WeightSpec& spec : weight_specs(config))
    for (WeightSpec& stored : checkpoint.stored_as(spec))
      if (checkpoint.contains(stored.name)) known.insert(std::move(stored.name));
  known.insert("lm_head.weight");  // where embeddings are tied: a copy of them (weights.cc)
  // A text model may have kept the parts of the model that it was a part of.
  const bool may_have_parts =
      config.origin.has_text_part || config.family->wrapper != nullptr || checkpoint.is_one_gguf();
  std::map<std::string, int> parts;
  for (const std::string& name : checkpoint.names()) {
    if (known.contains(name) || name.ends_with(".rotary_emb.inv_freq") ||
        checkpoint.is_empty_bias(name))
      continue;
    const auto passed_over = config.family->passed_over;
    std::string_view part = passed_over == nullptr ? "" : passed_over(config, name);
    if (part.empty() && may_have_parts) part = part_beside_text(name);
    if (name == kClassifier && checkpoint.is_one_gguf()) {
      if (Status status = check_classifier(checkpoint, config); !status) return status.error();
      ++parts["copy of rows of the LM head"];
      continue;
    }
    if (part.empty() && config.has(Mixer::kNone) && is_of_other_kind(config, name))
      return unsupported(
          "{}: tensor '{}' does not fit the kind of layer that the configuration gives layer {} "
          "(hint: correct the kinds of layers in config.json)",
          checkpoint.path().string(), name, layer_and_part(name).first);
    if (part.empty() && is_of_other_kind(config, name)) {
      const LayerConfig& layer = config.layers[layer_and_part(name).first];
      const bool has_attention = layer.mixer == Mixer::kAttention;
      return unsupported(
          "{}: tensor '{}' is part of a layer {} attention, but by the configuration layer {} has "
          "{}: only {} {} attention (hint: correct 'layer_types' in config.json, which names the "
          "kind of each layer)",
          checkpoint.path().string(), name, has_attention ? "without" : "with",
          layer_and_part(name).first, has_attention ? "it" : "none", attention_layers(config),
          config.n_attention_layers() == 1 ? "has" : "have");
    }
    if (part.empty())
      return unsupported("{}: tensor '{}' is unknown, expected those of {} with this configuration",
                         checkpoint.path().string(), name, config.family->name);
    ++parts[std::string(part)];
  }
  std::vector<std::string> names;
  for (const auto& [part, n] : parts)
    names.push_back(fmt::format("{} ({} tensor{})", part, n, n == 1 ? "" : "s"));
  return names;
}

}  // namespace pando::model
