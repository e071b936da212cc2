// What a loaded model is made of.
#pragma once

#include <memory>

#include "model/weights.h"
#include "pando/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace pando {

struct Model::Parts {
  model::Weights weights;
  std::unique_ptr<Tokenizer> tokenizer;  // null: tokens only
  Result<ChatTemplate> chat;             // why there is none, where a conversation asks for it
};

}  // namespace pando
