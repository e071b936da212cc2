// What is particular to one family of models. A family is one file of families/, and one line of
// families/list.h and list.cc; nothing outside of that folder asks which family a model is of.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace pando {
class FieldReader;
class GgufFile;
}  // namespace pando

namespace pando::model {

class GgufTranslator;
struct ModelConfig;
struct NamedShape;
struct WeightSpec;

struct Family {
  const char* name;               // model_type of config.json
  const char* architecture;       // its class in the transformers library
  const char* gguf_architecture;  // general.architecture; families may share one

  // Sets what no file says: places of norms, biases that are always there. Null: nothing.
  void (*fix)(ModelConfig& config) = nullptr;
  // Reads the fields of a config.json; `fields` keeps what is wrong.
  void (*read)(FieldReader& fields, ModelConfig& config);
  // Writes the fields that only some families have, so that `read` gives the same again. Null:
  // none.
  void (*write)(const ModelConfig& config, nlohmann::ordered_json& object) = nullptr;

  // Whether a GGUF file of the architecture is of this family, not of another one that shares it.
  // Null: always.
  bool (*owns)(const GgufFile& gguf) = nullptr;
  // Says in the fields of a config.json what the metadata says; `read` reads them.
  void (*translate)(GgufTranslator& gguf);

  // The tensors of one layer, in the order of the forward pass.
  std::vector<WeightSpec> (*layer_weights)(const ModelConfig& config, int layer);
  // Models that can be made with random weights: published ones, and a tiny one "tiny-<family>".
  std::vector<NamedShape> (*shapes)();
};

// All of them, in the order of messages.
std::span<const Family* const> families();
// By its name; null where there is none.
const Family* find_family(std::string_view name);

}  // namespace pando::model
