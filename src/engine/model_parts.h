// What a loaded model is made of.
#pragma once

#include <memory>

#include "model/weights.h"
#include "pando/model.h"
#include "text/tokenizer.h"

namespace pando {

struct Model::Parts {
  model::Weights weights;
  std::unique_ptr<Tokenizer> tokenizer;  // null: tokens only
  DType weight_type;
};

}  // namespace pando
