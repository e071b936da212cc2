#include "api/model_access.h"

#include "api/model_parts.h"

namespace pando {

const model::ModelSpec& spec_of(const Model& model) { return model.parts().files->config; }
const DeviceModel* weights_of(const Model& model) { return model.parts().weights.get(); }
const Tokenizer* tokenizer_of(const Model& model) { return model.parts().tokenizer.get(); }
const AnswerFormat& answer_format_of(const Model& model) { return model.parts().answers; }
grammar::FormCache* forms_of(const Model& model) { return model.parts().forms.get(); }
const Result<ChatTemplate>& chat_template_of(const Model& model) { return model.parts().chat; }
const Result<model::EmbeddingForm>& embedding_form_of(const Model& model) {
  return model.parts().embedding;
}
const Result<model::RerankForm>& rerank_form_of(const Model& model) {
  return model.parts().reranking;
}
const Result<std::optional<model::ClassifierHead>>& classifier_head_of(const Model& model) {
  return model.parts().head;
}
bool gives_logits(const Model& model) {
  return !model.parts().files->config.both_ways && !model.parts().files->has_no_head;
}
uint64_t largest_buffer_bytes(const Model& model) {
  return model.parts().device->largest_buffer_bytes();
}

}  // namespace pando
