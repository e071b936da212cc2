// Doors: bodies of other APIs that ask for a chat. A door translates its body into that of
// /v1/chat/completions, which the one reader reads (openai_body.h), and its errors back.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "pando/values/result.h"

namespace pando::ask {

// A field of a door's body.
struct DoorField {
  std::string_view name;
  // The field of a chat body that takes its value. Empty: the door reads it, or it changes no
  // answer.
  std::string_view chat_name = {};
};

// A chat body in the making. It knows from which part of the door's body each of its parts comes.
class ChatDraft {
 public:
  Json chat = Json::object();

  // Copies the fields that have a name in chat bodies, and those that any body of this server may
  // have: sampling options such as "top_k", and serving_field_names(). kInvalidArgument for every
  // other field outside the table. Null is as good as absent.
  Status copy(const Json& body, std::span<const DoorField> table);
  // The part `place` of the draft ("messages[2]", "tools[0].function") comes from the part `origin`
  // of the door's body.
  void set_origin(std::string place, std::string origin);
  // The place in the door's body of a place in the draft.
  std::string origin_of(std::string_view place) const;
  // An error of the chat body as one of the door's body.
  Error translated(Error error) const;

 private:
  // The text with the places that it quotes ('tools[0].function', "message 2") told as those of the
  // door's body.
  std::string retold(std::string_view text) const;

  std::map<std::string, std::string, std::less<>> origins_;  // by place
};

}  // namespace pando::ask
