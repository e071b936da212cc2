// Doors: other APIs. A door translates its body into one of OpenAI's (a chat, a completion or
// embeddings), which openai_body.h reads, and translates errors back.
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
  // The field of OpenAI's body that takes its value. Empty: the door reads the field itself, or the
  // field changes no answer.
  std::string_view chat_name = {};
  // JSON of the only value that the field may have, which asks for nothing. Empty: any value.
  std::string_view only = {};
};

// A body of OpenAI's under construction. It records which part of the door's body each part comes
// from.
class ChatDraft {
 public:
  Json chat = Json::object();

  // Copies the fields that have a name in chat bodies. Also copies fields that any body of this
  // server may have: sampling options such as "top_k", and serving_field_names(). Every other field
  // outside the table is kInvalidArgument. A null field counts as absent.
  Status copy(const Json& body, std::span<const DoorField> table) { return copy({}, body, table); }
  // Copies from the object in the field `part` of the door's body, which may have sampling options
  // alone besides the fields of the table.
  Status copy(std::string_view part, const Json& object, std::span<const DoorField> table);
  // Removes a field whose value is a negative number, which asks for nothing.
  void drop_negative(const char* name);
  // Sets the variable of chat templates that turns reasoning on or off; `origin` asks for it.
  void set_thinking(bool on, std::string origin);
  // Records that the part `place` of the draft ("messages[2]", "tools[0].function") comes from the
  // part `origin` of the door's body.
  void set_origin(std::string place, std::string origin);
  // Maps a place in the draft to its place in the door's body.
  std::string origin_of(std::string_view place) const;
  // Translates an error of the chat body into an error of the door's body.
  Error translated(Error error) const;

 private:
  // Replaces places that a text quotes ('tools[0].function', "message 2") by places in the door's
  // body.
  std::string retold(std::string_view text) const;

  std::map<std::string, std::string, std::less<>> origins_;  // by place
};

}  // namespace pando::ask
