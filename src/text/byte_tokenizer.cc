#include "text/byte_tokenizer.h"

#include "base/write_file.h"
#include "text/byte_level.h"
#include "text/json_file.h"

namespace pando {
namespace {

constexpr const char* kEndOfText = "<|endoftext|>";
constexpr const char* kChatTemplate =
    "{% for message in messages %}{{ message.role + ': ' + message.content + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:' }}"
    "{% if enable_thinking %}{{ ' (thinking)' }}{% endif %}{% endif %}";

Json byte_tokenizer() {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocab[byte_level_character(static_cast<unsigned char>(byte))] = byte;
  }
  const Json end = {{"id", kByteTokenizerVocab - 1},
                    {"content", kEndOfText},
                    {"special", true},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false}};
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", false},
                           {"use_regex", false}};
  return {{"version", "1.0"},
          {"added_tokens", Json::array({end})},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
}

}  // namespace

Status write_byte_tokenizer(const std::filesystem::path& directory) {
  Status done =
      write_file(directory / "tokenizer.json", sorted_json(byte_tokenizer()).dump(1) + "\n");
  if (!done.ok()) return done;
  const Json config = {{"eos_token", kEndOfText},
                       {"add_bos_token", false},
                       {"chat_template", kChatTemplate},
                       {"tokenizer_class", "PreTrainedTokenizerFast"}};
  return write_file(directory / "tokenizer_config.json", sorted_json(config).dump(1) + "\n");
}

}  // namespace pando
