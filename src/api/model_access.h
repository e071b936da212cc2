// The parts of a loaded model that the floors above api/ read. They live as long as the model.
#pragma once

#include "contract/device.h"
#include "model/classifier_head.h"
#include "model/embedding_form.h"
#include "model/rerank_form.h"
#include "pando/model.h"
#include "text/answer_decoder.h"
#include "text/chat/chat_template.h"
#include "text/grammar/form_cache.h"
#include "text/tokenizer.h"

namespace pando {

const model::ModelSpec& spec_of(const Model& model);
const DeviceModel* weights_of(const Model& model);  // null: loaded without
const Tokenizer* tokenizer_of(const Model& model);  // null: tokens only
const AnswerFormat& answer_format_of(const Model& model);
grammar::FormCache* forms_of(const Model& model);                  // null without a tokenizer
const Result<ChatTemplate>& chat_template_of(const Model& model);  // or why there is none
// The form that the files describe, or the reason why it is not offered.
const Result<model::EmbeddingForm>& embedding_form_of(const Model& model);
const Result<model::RerankForm>& rerank_form_of(const Model& model);
// The head of a classifier; nothing: the model is none.
const Result<std::optional<model::ClassifierHead>>& classifier_head_of(const Model& model);
// False: its tokens see both ways, or its files have no LM head.
bool gives_logits(const Model& model);
// The most bytes that keys and values can have on the model's device; 0: there is no such limit.
uint64_t largest_buffer_bytes(const Model& model);

}  // namespace pando
