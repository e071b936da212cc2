// config.json, with its fields of rotary embeddings.
#include <cmath>

#include "exec/rope.h"
#include "fuzz/fuzz.h"
#include "model/config.h"

using namespace pando;
using model::ModelConfig;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<ModelConfig> config = ModelConfig::parse(fuzz::text_of(data, size), "config.json");
  if (!config) {
    fuzz::check_error(config.error());
    return 0;
  }
  const Result<ModelConfig> again = ModelConfig::parse(config->to_json(DType::kF32), "again");
  fuzz::demand(again.ok(), "what is written is not read");
  fuzz::demand(again->rotations == config->rotations && again->layers == config->layers &&
                   again->rms_eps == config->rms_eps && again->q_dim() == config->q_dim() &&
                   again->vocab == config->vocab,
               "what is written is read as something else");
  if (config->n_layers() <= 4) fuzz::demand(config->n_parameters() > 0, "no parameters");
  if (config->head_dim > 1024) return 0;
  const int rotary_dim = config->rotations[0].rotary_dim(config->head_dim);
  for (const double frequency :
       exec::rope_frequencies(config->rotations[0], rotary_dim, config->max_positions))
    fuzz::demand(std::isfinite(frequency), "a rotation that is not finite");
  return 0;
}
