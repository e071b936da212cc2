#include "model/families/mixers.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "model/families/layer_list.h"

namespace pando::model {

using json = Json;

bool read_mixers(Fields& fields, std::span<const NamedMixer> names, ModelConfig& config,
                 const char* field) {
  const json* types = fields.find(field);
  if (types == nullptr) return false;
  std::vector<std::string_view> words;
  for (const NamedMixer& mixer : names) words.push_back(mixer.name);
  if (!is_layer_list(fields, field, config.layers.size(), words)) return true;
  for (size_t i = 0; i < words.size(); ++i)
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
      if ((*types)[layer] == words[i]) config.layers[layer].mixer = names[i].mixer;
  refuse_no_attention(fields, field, config);
  return true;
}

void refuse_no_attention(Fields& fields, const char* field, const ModelConfig& config) {
  if (config.n_attention_layers() > 0) return;
  const json* value = fields.find(field);
  if (value != nullptr && value->is_array())
    return fields.fail(
        in_file(fields.source(),
                unsupported("'{}' names no layer with attention, expected at least one", field)));
  fields.refuse(field,
                "a value with which at least one layer has attention: models without attention "
                "are not supported",
                ErrorCode::kUnsupported);
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
