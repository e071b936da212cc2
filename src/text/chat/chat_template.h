// The chat templates of a model, and conversations rendered by them.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/model_path.h"
#include "pando/values/chat.h"
#include "pando/values/result.h"
#include "text/chat/jinja.h"
#include "text/tokenizer.h"

namespace pando {

// Variables of a template that are texts, by their names: "bos_token", "eos_token", ...
using NamedTokens = std::vector<std::pair<std::string, std::string>>;

// Tools and documents for trials of templates that need them.
inline constexpr std::string_view kTrialTools =
    R"([{"type": "function", "function": {"name": "f", "description": "d", "parameters": {
    "type": "object", "properties": {"p": {"type": "string", "description": "d"}},
    "required": ["p"]}}}])";
inline constexpr std::string_view kTrialDocuments = R"([{"title": "t", "text": "t"}])";

// Immutable; any thread may use it.
class ChatTemplate {
 public:
  // The templates of a tokenizer's directory or GGUF file (docs/chat.md says where they are looked
  // for). `choice`: a file with another one, or the name of one of several; empty: the model's.
  // kUnsupported if there is none, or if Pando cannot read it.
  static Result<ChatTemplate> load(const ModelPath& path, const Tokenizer& tokenizer,
                                   const std::string& choice = {});
  // `source` is for messages.
  static Result<ChatTemplate> from_text(std::string_view text, std::string_view source,
                                        NamedTokens tokens);

  // kInvalidArgument if the template itself refuses, in its words; if it would leave out a message
  // (one of an assistant or a tool only if it leaves out all users); and for thinking if it has no
  // switch.
  Result<std::string> render(std::span<const ChatMessage> messages,
                             const ChatOptions& options) const;
  // True if the template may write the date.
  bool reads_clock() const;
  std::string day() const;  // on which it was loaded, as in "2026-11-25"; empty: no matter to it
  // True if the first template takes lists of parts as contents. Otherwise the parts are joined to
  // one text.
  bool takes_parts() const { return templates_.front().takes_parts; }
  // True if the arguments of a tool call may be objects. Otherwise they stay texts of JSON.
  bool takes_arguments() const { return templates_.front().takes_arguments; }
  // True if a template reads ChatOptions::thinking.
  bool has_thinking_switch() const;
  // True if a template reads tools. Otherwise they are written as texts (written_tools.h).
  bool reads_tools() const;
  // True if a template's text contains this text.
  bool mentions(std::string_view text) const;

 private:
  struct Named {
    std::string name;  // "default", "tool_use", ...
    std::string source;
    Result<jinja::Template> compiled;
    std::string text;
    bool knows_developer = false;  // the role; where not it is that of the system
    bool takes_parts = false;
    bool needs_parts = false;  // contents that are texts are given as lists of one part
    bool drops_users = false;  // in the trials, a user's text appeared in neither form
    bool takes_arguments = false;
    bool needs_content = false;  // a message with calls and no content gets an empty text
    bool needs_null = false;     // such a message gets null
  };
  struct Asked;  // a conversation as the template's variables
  struct Place;  // the place of a text in Asked

  Result<const Named*> chosen(const ChatOptions& options) const;
  Result<std::string> render_by(const Named& named, const Asked& asked,
                                const ChatOptions& options) const;
  static std::vector<Asked> trials(const Named& named);
  void find_out_what_it_takes(Named& named) const;
  void find_out_content(Named& named) const;
  void find_out_arguments(Named& named) const;
  void find_out_calls(Named& named) const;
  Status check_lost(const Named& named, const Asked& asked, const ChatOptions& options,
                    const std::string& text) const;
  static std::vector<Place> asked_texts(const Named& named, const Asked& asked);
  static bool join_parts(Asked& asked);
  void drop_shown(const Named& named, const Asked& asked, const ChatOptions& options,
                  std::vector<Place>& places) const;
  static bool switches_thinking(const Named& named);
  static Status check_thinking(const Named& named, const ChatOptions& options);
  nlohmann::ordered_json prepared(const Named& named, const ChatMessage& message,
                                  nlohmann::ordered_json fields) const;

  std::vector<Named> templates_;  // the one to take where nothing else is said comes first
  NamedTokens tokens_;
  LocalTime loaded_;  // the day
};

}  // namespace pando
