#include "model/families/mixers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace pando::model {

using nlohmann::json;

bool read_mixers(Fields& fields, std::span<const NamedMixer> names, ModelConfig& config) {
  const json* types = fields.find("layer_types");
  if (types == nullptr) return false;
  std::vector<Mixer> mixers;
  for (const json& type : types->is_array() ? *types : json::array())
    if (const auto named = std::ranges::find_if(
            names, [&](const NamedMixer& mixer) { return type == mixer.name; });
        named != names.end())
      mixers.push_back(named->mixer);
  if (!types->is_array() || types->size() != mixers.size() ||
      mixers.size() != config.layers.size()) {
    std::vector<std::string_view> all;
    for (const NamedMixer& mixer : names) all.push_back(mixer.name);
    fields.refuse("layer_types",
                  fmt::format("{} times \"{}\"", config.n_layers(), fmt::join(all, "\" or \"")),
                  ErrorCode::kUnsupported);
    return true;
  }
  for (size_t i = 0; i < mixers.size(); ++i) config.layers[i].mixer = mixers[i];
  return true;
}

void write_mixers(const ModelConfig& config, std::span<const NamedMixer> names,
                  nlohmann::ordered_json& object) {
  object["layer_types"] = json::array();
  for (const LayerConfig& layer : config.layers)
    object["layer_types"].push_back(
        std::ranges::find(names, layer.mixer, &NamedMixer::mixer)->name);
}

void set_interval(int64_t interval, Mixer recurrent, ModelConfig& config) {
  for (size_t i = 0; i < config.layers.size(); ++i)
    config.layers[i].mixer =
        static_cast<int64_t>(i + 1) % interval == 0 ? Mixer::kAttention : recurrent;
}

}  // namespace pando::model
