#include "ask/door_body.h"

#include "api/model_access.h"
#include "ask/embedding.h"
#include "ask/usage.h"
#include "base/errors.h"

namespace pando::ask {

Status DoorBody::take(OpenAiRequest read, const BodyContext& context) {
  form_ = std::move(read.form);
  stream = read.stream;
  serving = std::move(read.serving);
  form_field_ = draft_.origin_of(read.form_field);
  name_requests(read.requests, envelope_.id);
  for (Request& request : read.requests)
    if (Status status = add_question(context, {.request = std::move(request)}); !status)
      return status;
  return {};
}

std::string DoorBody::place(size_t request) const {
  const std::string field = draft_.origin_of(prompt_field(form_.endpoint));
  return requests.size() > 1 ? place_in(field, request) : field;
}

Json DoorBody::vectors() const {
  Json list = Json::array();
  for (const std::vector<Completion>& completion : completions().all())
    list.push_back(vector_json(form_, completion[0]));
  return list;
}

void DoorBody::add_notes(Json& json) const {
  if (serving.sharing) json["sharing"] = SharingCounts(completions().all()).json();
  add_warnings(json);
  if (!envelope_.warning.empty()) json["wrong"] = envelope_.warning;
}

Result<OpenAiRequest> read_door_request(const DoorDraft& draft, const BodyContext& context) {
  Result<OpenAiRequest> read =
      read_openai_request(draft.endpoint, draft.draft.chat, context, draft.embed);
  if (!read) return draft.draft.translated(read.error());
  if (draft.endpoint != Endpoint::kEmbeddings && read->requests.size() != 1)
    return invalid_field(draft.draft.origin_of(prompt_field(draft.endpoint)),
                         "has {} prompts, expected one", read->requests.size());
  const Result<ChatTemplate>& chat = chat_template_of(context.model);
  if (draft.thinks && chat && chat->has_thinking_switch()) read->requests[0].chat.thinking = true;
  return read;
}

}  // namespace pando::ask
