#include "text/gguf_special.h"

#include <algorithm>
#include <array>

#include "base/errors.h"

namespace pando {
namespace {

constexpr std::array<std::string_view, 22> kEnds = {
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",  // o200k_harmony
    "<|call|>",
    "<|flush|>",  // Solar Open
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "</s>",
    "<eos>",  // Gemma 4
    "<turn|>",
    "<|tool_response>",
    "<|EOT|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",  // Kimi K2
    "[EOS]",
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",  // DeepSeek
};

bool is_among(std::string_view text, const std::vector<Piece>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](const Piece& piece) { return piece.text == text; });
}

// Texts that end an answer of some models are ordinary in others.
std::vector<std::string_view> no_ends(const std::vector<Piece>& pieces) {
  const auto has = [&](std::string_view text) { return is_among(text, pieces); };
  std::vector<std::string_view> texts;
  if (has("<|tool_response>")) texts.emplace_back("</s>");
  const bool harmony = has("<|return|>") && (has("<|call|>") || has("<|calls|>"));
  const bool solar = has("<|flush|>") && (has("<|call|>") || has("<|calls|>"));
  if (harmony || solar) texts.emplace_back("<|end|>");
  return texts;
}

std::string key_of(std::string_view key) { return fmt::format("tokenizer.ggml.{}", key); }

void warn_of_default(const GgufFile& file, std::string_view key, Token id,
                     const std::vector<Piece>& pieces, TokenizerParts* parts) {
  if (file.has(key_of(key))) return;
  parts->warnings.push_back(fmt::format("'{}': '{}' is missing; using token {} ('{}') instead",
                                        file.file().path().string(), key_of(key), id,
                                        pieces[id].text));
}

// The form of a pair, which the file does not have.
Status find_templates(const GgufFile& file, const GgufDefaults& defaults,
                      std::optional<Token> separator, SpecialTokens* special) {
  const Result<bool> parts_pairs = gguf_flag(file, "add_sep_token", defaults.parts_pairs);
  if (!parts_pairs.ok()) return parts_pairs.error();
  std::vector<Token> between;
  if (*parts_pairs && !defaults.puts_separator && separator) between = {*separator};
  special->templates =
      templates_around(special->before, special->after, between, defaults.second_type);
  return {};
}

// Finds the tokens before and after a text.
Status find_around(const GgufFile& file, const std::vector<Piece>& pieces,
                   const GgufDefaults& defaults, std::optional<Token> eos, TokenizerParts* parts) {
  const Result<bool> bos_flag = gguf_flag(file, "add_bos_token", defaults.puts_bos);
  if (!bos_flag.ok()) return bos_flag.error();
  const Result<bool> puts_eos = gguf_flag(file, "add_eos_token", defaults.puts_eos);
  if (!puts_eos.ok()) return puts_eos.error();
  const std::optional<Token> bos = parts->special.bos;
  const bool puts_bos = *bos_flag || defaults.always_puts_bos;
  if (puts_bos && bos) {
    parts->special.before = {*bos};
    warn_of_default(file, "bos_token_id", *bos, pieces, parts);
  } else if (puts_bos && file.has(key_of("add_bos_token"))) {
    return file.wrong(key_of("bos_token_id"), "an id, because 'add_bos_token' is true");
  }
  if (*puts_eos && !eos) {
    return file.wrong(key_of("eos_token_id"), "an id, because 'add_eos_token' is true");
  }
  if (*puts_eos) parts->special.after = {*eos};
  const auto separator =
      gguf_token(file, "seperator_token_id", pieces.size(), defaults.separator);  // spelt so
  if (!separator.ok()) return separator.error();
  if (*separator && defaults.puts_separator) parts->special.after = {**separator};
  return find_templates(file, defaults, *separator, &parts->special);
}

}  // namespace

GgufDefaults gguf_defaults(std::string_view model) {
  if (model == "llama") return {.bos = 1, .eos = 2, .unknown = 0, .puts_bos = true};
  if (model == "gpt2") return {.bos = 11, .eos = 11};
  if (model == "t5") return {.eos = 1, .unknown = 2, .puts_eos = true, .parts_pairs = true};
  if (model != "bert") return {};
  return {.bos = 101,
          .unknown = 100,
          .separator = 102,
          .puts_bos = true,
          .puts_separator = true,
          .second_type = 1};
}

Result<std::optional<Token>> gguf_token(const GgufFile& file, std::string_view key, size_t n_tokens,
                                        std::optional<Token> otherwise) {
  const auto id = file.token_id(key_of(key));
  if (!id.ok()) return id.error();
  if (!*id) {
    const bool there = otherwise && *otherwise < static_cast<int64_t>(n_tokens);
    const bool said = file.has(key_of(key));  // that there is none
    return there && !said ? otherwise : std::nullopt;
  }
  if (**id < 0 || **id >= static_cast<int64_t>(n_tokens)) {
    return file.wrong(key_of(key), fmt::format("an id below {}", n_tokens));
  }
  return std::optional(static_cast<Token>(**id));
}

Result<bool> gguf_flag(const GgufFile& file, std::string_view key, bool if_absent) {
  const auto value = file.boolean(key_of(key));
  if (!value.ok()) return value.error();
  return value->value_or(if_absent);
}

std::vector<Token> find_gguf_ends(std::vector<Piece>* pieces) {
  const std::vector<std::string_view> others = no_ends(*pieces);
  std::vector<Token> ends;
  for (size_t id = 0; id < pieces->size(); ++id) {
    Piece& piece = (*pieces)[id];
    if (std::find(kEnds.begin(), kEnds.end(), piece.text) == kEnds.end()) continue;
    if (std::find(others.begin(), others.end(), piece.text) != others.end()) continue;
    piece.type = PieceType::kControl;
    ends.push_back(static_cast<Token>(id));
  }
  return ends;
}

Status find_gguf_special(const GgufFile& file, const std::vector<Piece>& pieces,
                         const std::vector<Token>& ends, const GgufDefaults& defaults,
                         TokenizerParts* parts) {
  std::vector<bool> is_end(pieces.size());
  const auto add_end = [&](Token id) {
    if (!is_end[id]) parts->special.ends.push_back(id);
    is_end[id] = true;
  };
  const auto eos = gguf_token(file, "eos_token_id", pieces.size(), defaults.eos);
  if (!eos.ok()) return eos.error();
  if (*eos) {
    warn_of_default(file, "eos_token_id", **eos, pieces, parts);
    add_end(**eos);
  }
  for (const char* key : {"eot_token_id", "eom_token_id"}) {
    const auto id = gguf_token(file, key, pieces.size());
    if (!id.ok()) return id.error();
    if (*id) add_end(**id);
  }
  for (Token id : ends) add_end(id);
  const char* begin = file.has(key_of("bos_token_id")) ? "bos_token_id" : "cls_token_id";
  const auto bos = gguf_token(file, begin, pieces.size(), defaults.bos);
  if (!bos.ok()) return bos.error();
  parts->special.bos = *bos;
  return find_around(file, pieces, defaults, *eos, parts);
}

}  // namespace pando
