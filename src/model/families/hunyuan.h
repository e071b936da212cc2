// What the families of HunYuan have in common.
#pragma once

#include "base/fields.h"
#include "model/config.h"
#include "model/families/layer_specs.h"
#include "model/gguf_translator.h"

namespace pando::model {

void fix_hunyuan(ModelConfig& config);
// All fields but those of experts.
void read_hunyuan(Fields& fields, ModelConfig& config);
void translate_hunyuan(GgufTranslator& gguf);
// The tensors of a layer up to the norm before the feed-forward part.
LayerSpecs hunyuan_mixer(const ModelConfig& config, int layer);

// What the alpha of the rotation makes of theta.
double stretched_theta(double theta, double alpha, int head_dim);

}  // namespace pando::model
