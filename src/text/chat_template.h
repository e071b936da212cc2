// The chat template of a model, recognised by its text and rendered as its Jinja text would be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pando/chat.h"
#include "pando/result.h"
#include "text/tokenizer.h"

namespace pando {

struct ChatForm;  // a known template

// Immutable; any thread may use it.
class ChatTemplate {
 public:
  // Texts of the tokens that a template may write.
  struct Tokens {
    std::optional<std::string> bos;
    std::optional<std::string> eos;
  };

  // The template of a tokenizer's directory: chat_template.jinja, or field 'chat_template' of
  // tokenizer_config.json (a text, or the one named "default"), or of chat_template.json. Of a GGUF
  // file: tokenizer.chat_template. kUnsupported where there is none or it is not known.
  static Result<ChatTemplate> load(const std::filesystem::path& path, const Tokenizer& tokenizer);
  // `source` is for messages.
  static Result<ChatTemplate> recognise(std::string_view text, std::string_view source,
                                        const Tokens& tokens);
  static Result<ChatTemplate> with_hash(uint64_t hash, std::string_view source,
                                        const Tokens& tokens);

  // XXH3-64 of the text as Jinja reads it: line ends are \n, and one at the end is not there.
  static uint64_t hash(std::string_view text);

  std::string_view name() const;
  // kInvalidArgument for a role other than system, user and assistant; for what the template itself
  // refuses, in its words; for a system message that it would leave out; for thinking where it
  // cannot be turned on, or off.
  Result<std::string> render(std::span<const ChatMessage> messages,
                             const ChatOptions& options) const;

 private:
  ChatTemplate(const ChatForm& form, const Tokens& tokens)
      : form_(&form), bos_(tokens.bos.value_or("")), eos_(tokens.eos.value_or("")) {}

  const ChatForm* form_;
  std::string bos_;
  std::string eos_;
};

}  // namespace pando
