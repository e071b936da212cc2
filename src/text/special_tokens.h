// Special tokens from the files beside a tokenizer: tokenizer_config.json, generation_config.json
// and config.json, any of which may be missing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/model_path.h"
#include "text/added_tokens.h"
#include "text/text_template.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

namespace pando {

struct TokenizerConfig {
  std::string file;             // tokenizer_config.json, for messages
  std::string tokenizer_class;  // empty if not said
  std::vector<AddedToken> added;
  std::vector<std::string> named;  // texts of bos_token, eos_token and so on, and additional ones
  std::optional<std::string> bos;
  std::optional<std::string> eos;
  std::optional<bool> add_bos;
  bool add_eos = false;
  bool add_prefix_space = false;
  std::vector<Token> end_ids;  // eos_token_id of generation_config.json, then of config.json
  TextLimit limit;
  std::optional<bool> gives_types;  // model_input_names has token_type_ids
};
Result<TokenizerConfig> read_tokenizer_config(const ModelPath& directory);
// Appends eos_token_id of a JSON file, an id or a list of ids. Without a file it appends nothing.
Status read_end_ids(const ModelPath& path, std::vector<Token>* ids);

// One entry of added_tokens or added_tokens_decoder, without its id.
Result<AddedToken> read_added_token(const JsonPlace& place);

struct SpecialTokens {
  std::optional<Token> bos;
  std::vector<Token> before;  // put before a text
  std::vector<Token> after;   // put after a text
  std::vector<Token> ends;    // each once
  TextTemplates templates;    // empty: made of `before` and `after`
};

// Puts special tokens around `*tokens`, those of a text. A text that already begins with the tokens
// that go before it does not get them twice.
void put_around(const SpecialTokens& special, std::vector<Token>* tokens);

// Special tokens from the tokenizer's own file. The configuration completes or overrides them.
struct OwnSpecialTokens {
  std::optional<Token> bos;
  std::optional<Token> eos;
  std::vector<Token> before;
  std::vector<Token> after;
  TextTemplates templates = {};
  // The file itself says which tokens go around a text; add_bos_token and add_eos_token have no
  // effect.
  bool is_template = false;
};
Result<SpecialTokens> find_special_tokens(const TokenizerConfig& config, const Vocab& vocab,
                                          const OwnSpecialTokens& own);

// Adds `tokens` to `*vocab` and `*added`; tokens already in the vocabulary must agree with it.
// `file` is for messages.
Status add_tokens(const std::vector<AddedToken>& tokens, const std::string& file, Vocab* vocab,
                  std::vector<AddedToken>* added);
// Adds the tokens of the configuration that `*added` lacks; named tokens only if the vocabulary has
// them. A token that exists already takes the configuration's flags, but a special token stays
// special.
Status add_config_tokens(const TokenizerConfig& config, Vocab* vocab,
                         std::vector<AddedToken>* added);

}  // namespace pando
