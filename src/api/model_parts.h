// Parts of a loaded model.
#pragma once

#include <memory>

#include "contract/device.h"
#include "model/classifier_head.h"
#include "model/embedding_form.h"
#include "model/opened_model.h"
#include "model/rerank_form.h"
#include "pando/model.h"
#include "text/answer_decoder.h"
#include "text/chat/chat_template.h"
#include "text/grammar/form_cache.h"
#include "text/tokenizer.h"

namespace pando {

struct Model::Parts {
  std::unique_ptr<const model::OpenedModel> files;
  const Device* device;
  std::unique_ptr<const DeviceModel> weights;  // of files; null: loaded without
  std::unique_ptr<Tokenizer> tokenizer;        // null: tokens only
  Result<ChatTemplate> chat;               // why there is none, where a conversation asks for it
  Result<model::EmbeddingForm> embedding;  // from the files, or why it is not supported
  Result<model::RerankForm> reranking;     // the same for a reranker
  Result<std::optional<model::ClassifierHead>> head;    // nothing: the model is no classifier
  std::unique_ptr<grammar::FormCache> forms = nullptr;  // of the tokenizer
  AnswerFormat answers = {};
  std::shared_ptr<Ranks> ranks =
      nullptr;                   // the ranks that share the model; null: this process has all of it
  std::string tool_format = {};  // as the options name it; empty: as the chat template shows
  std::vector<std::string> rank_warnings = {};  // LoadedShare::warnings
  bool all_rows = false;  // ExecutorOptions::all_rows of all engines over the model
};

}  // namespace pando
