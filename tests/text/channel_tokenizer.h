// A tokenizer of bytes with the special tokens of gpt-oss.
#pragma once

#include <array>
#include <string>

#include "text/text_testing.h"

namespace pando::testing {

// Tokens 256 to 262.
inline constexpr std::array kChannelTokens = {"<|start|>",    "<|end|>",    "<|message|>",
                                              "<|channel|>",  "<|return|>", "<|call|>",
                                              "<|constrain|>"};
constexpr int kChannelVocab = 256 + static_cast<int>(kChannelTokens.size());

inline Json channel_tokenizer_json() {
  Json json = byte_level_json({}, Json::array());
  json["pre_tokenizer"]["use_regex"] = false;
  int id = 256;
  for (const char* content : kChannelTokens)
    json["added_tokens"].push_back(added_token(id++, content));
  return json;
}

// An answer ends at <|return|> and <|call|>. Its template is that of gpt-oss in short.
inline void write_channel_tokenizer(const std::filesystem::path& directory) {
  const auto write = [&](const char* name, const Json& json) {
    std::ofstream(directory / name, std::ios::binary) << json.dump();
  };
  write("tokenizer.json", channel_tokenizer_json());
  write("generation_config.json", {{"eos_token_id", {260, 261}}});
  write("tokenizer_config.json",
        {{"chat_template",
          "{% for m in messages %}{% if m.role == 'assistant' %}"
          "{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' }}"
          "{% else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{% endif %}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"}});
}

}  // namespace pando::testing
