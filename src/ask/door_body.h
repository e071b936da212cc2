// Bodies that a door translates into one of OpenAI's.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "ask/body.h"
#include "ask/door_fields.h"
#include "ask/openai_body.h"
#include "base/json.h"

namespace pando::ask {

// A translated body, and what its parts ask beyond it.
struct DoorDraft {
  Endpoint endpoint = Endpoint::kChat;
  ChatDraft draft = {};
  bool thinks = false;      // reasoning is turned on, if the chat template has a switch for it
  EmbedOptions embed = {};  // for embeddings, if the model's files do not say it
};

class DoorBody : public Body {
 public:
  DoorBody(const BodyContext& context, ChatDraft draft) : Body(context), draft_(std::move(draft)) {}

  // There is no `length_field`. Clients of these APIs send large defaults, so an answer is cut if
  // the context has less room than asked for.
  Status take(OpenAiRequest read, const BodyContext& context);

  std::string place(size_t request) const override;
  std::string form_place(size_t) const override { return form_field_; }
  Error translated(Error error) const override { return draft_.translated(std::move(error)); }

 protected:
  // The whole answer to the one request.
  const Completion& completed() const { return completions().all()[0][0]; }
  // A vector for each request, as numbers or base64.
  Json vectors() const;
  // Adds "sharing" if it was asked for, "warnings" and "wrong".
  void add_notes(Json& json) const;

  AnswerForm form_;

 private:
  ChatDraft draft_;
  std::string form_field_;
};

// Reads the request of a draft. A body other than one of embeddings must ask for one answer.
// Errors: as ReadBody, with places in the door's body.
Result<OpenAiRequest> read_door_request(const DoorDraft& draft, const BodyContext& context);

// Reads the draft for a class of a door.
template <class Made, class... Args>
Result<std::unique_ptr<Body>> read_door(DoorDraft draft, const BodyContext& context,
                                        Args&&... args) {
  Result<OpenAiRequest> read = read_door_request(draft, context);
  if (!read) return read.error();
  draft.draft.chat = Json();  // the request has it
  auto body = std::make_unique<Made>(context, std::move(draft.draft), std::forward<Args>(args)...);
  if (Status status = body->take(std::move(*read), context); !status) return status.error();
  return std::unique_ptr<Body>(std::move(body));
}

}  // namespace pando::ask
