#include "model/passed_over.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "model/beside_text.h"
#include "model/families/hooks.h"
#include "model/family.h"
#include "model/gguf_classifier.h"
#include "model/weight_specs.h"

namespace pando::model {

Result<std::vector<std::string>> passed_over_parts(const ModelConfig& config,
                                                   const Checkpoint& checkpoint,
                                                   std::span<const std::string> read_besides) {
  std::set<std::string> known(read_besides.begin(), read_besides.end());
  for (const WeightSpec& spec : weight_specs(config))
    for (WeightSpec& stored : checkpoint.stored_as(spec))
      if (checkpoint.contains(stored.name)) known.insert(std::move(stored.name));
  known.insert("lm_head.weight");  // a copy of tied embeddings (weights.cc)
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
    if (part.empty() && name == kScore) part = "classifier";
    if (part.empty() && config.both_ways) part = beside_encoder(config, name);
    if (part.empty() && name == kClassifier && checkpoint.is_one_gguf()) {
      if (Status status = check_classifier(checkpoint, config); !status) return status.error();
      ++parts["copy of rows of the LM head"];
      continue;
    }
    if (part.empty())
      return in_file(
          checkpoint.path().string(),
          of_tensor(name, unsupported("is unknown, expected those of {} with this configuration",
                                      config.family->name)));
    ++parts[std::string(part)];
  }
  std::vector<std::string> names;
  for (const auto& [part, n] : parts)
    names.push_back(fmt::format("{} ({} tensor{})", part, n, n == 1 ? "" : "s"));
  return names;
}

}  // namespace pando::model
