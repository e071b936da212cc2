// Chooses the files of a repository that a model needs.
#pragma once

#include <string>
#include <vector>

#include "hub/model_id.h"
#include "pando/values/result.h"

namespace pando::hub {

enum class Need {
  kModel,      // weights, configuration, tokenizer
  kTokenizer,  // the tokenizer, with the files that are read beside it
};

struct ChosenFiles {
  std::vector<std::string> small;    // all but weights, sorted
  std::vector<std::string> weights;  // the parts of a GGUF file in order, or model.safetensors
  bool has_index = false;            // `small` has kIndex, which names the weights
  bool has_tokenizer = false;        // always so with GGUF files
  bool is_gguf = false;
};

inline constexpr const char* kIndex = "model.safetensors.index.json";

// Chooses among `names`, the files of a repository. kNotFound or kUnsupported if it holds no such
// model. kInvalidArgument if several GGUF files fit the id. kBadFile if a needed file has an unsafe
// name.
Result<ChosenFiles> choose_files(const ModelId& id, const std::vector<std::string>& names,
                                 Need need);

// The shards that an index names, sorted. `source` names it in messages.
Result<std::vector<std::string>> shards_of_index(std::string_view text, const std::string& source);

}  // namespace pando::hub
