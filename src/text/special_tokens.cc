#include "text/special_tokens.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "text/json_file.h"

namespace pando {
namespace {

std::unordered_set<Token> ids_of(const std::vector<AddedToken>& tokens) {
  std::unordered_set<Token> ids;
  for (const AddedToken& token : tokens) ids.insert(token.id);
  return ids;
}

// A token named by its text, or by an object that holds it as "content". Nothing where absent.
Result<std::optional<std::string>> read_named(const JsonPlace& place) {
  if (place.absent()) return std::optional<std::string>();
  Result<std::string> text = place.json().is_object() ? place.at("content").text() : place.text();
  if (!text.ok()) return text.error();
  return std::optional(std::move(*text));
}

Status add_named(const JsonPlace& place, TokenizerConfig* config) {
  Result<std::optional<std::string>> text = read_named(place);
  if (!text.ok()) return text.error();
  if (*text && !(*text)->empty()) config->named.push_back(std::move(**text));
  return {};
}

// True for a string, and for an object that is marked as a token.
bool is_token(const Json& value) {
  if (!value.is_object()) return value.is_string();
  const auto type = value.find("__type");
  return type != value.end() && type->is_string() &&
         type->get_ref<const std::string&>() == "AddedToken";
}

// The tokens of a list, or of an object by their names.
Status add_all_named(const JsonPlace& place, TokenizerConfig* config) {
  if (place.absent()) return {};
  if (place.json().is_object()) {
    for (const auto& [name, value] : place.json().items())
      if (Status done = add_named(place.at(name, value), config); !done.ok()) return done;
    return {};
  }
  if (Status array = place.expect_array(); !array.ok()) return array;
  for (size_t i = 0; i < place.json().size(); ++i)
    if (Status done = add_named(place.at(i), config); !done.ok()) return done;
  return {};
}

Status read_named_tokens(const JsonPlace& root, TokenizerConfig* config) {
  for (const char* field : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                            "cls_token", "mask_token"}) {
    const size_t before = config->named.size();
    if (Status done = add_named(root.at(field), config); !done.ok()) return done;
    if (config->named.size() == before) continue;
    if (field == std::string_view("bos_token")) config->bos = config->named.back();
    if (field == std::string_view("eos_token")) config->eos = config->named.back();
  }
  for (const auto& [name, value] : root.json().items())  // "image_token", ...
    if (name.ends_with("_token") && is_token(value))
      if (Status done = add_named(root.at(name, value), config); !done.ok()) return done;
  // Version 5 of the transformers library writes the first two fields. A list in the second takes
  // the place of the older third one.
  const JsonPlace own = root.at("model_specific_special_tokens");
  if (!own.absent())
    if (Status object = own.expect_object(); !object.ok()) return object;
  const JsonPlace extra = root.at("extra_special_tokens");
  for (const JsonPlace& place : {own, extra})
    if (Status done = add_all_named(place, config); !done.ok()) return done;
  if (!extra.absent() && extra.json().is_array() && !extra.json().empty()) return {};
  return add_all_named(root.at("additional_special_tokens"), config);
}

Status read_added_tokens(const JsonPlace& place, TokenizerConfig* config) {
  if (place.absent()) return {};
  if (Status object = place.expect_object(); !object.ok()) return object;
  for (const auto& [key, value] : place.json().items()) {
    Result<AddedToken> token = read_added_token(place.at(key, value));
    if (!token.ok()) return token.error();
    const char* end = key.data() + key.size();
    const auto parsed = std::from_chars(key.data(), end, token->id);
    if (parsed.ec != std::errc() || parsed.ptr != end || token->id < 0 || token->id > kMaxToken) {
      return place.at(key).wrong(fmt::format("a name that is an id from 0 to {}", kMaxToken));
    }
    config->added.push_back(std::move(*token));
  }
  std::sort(config->added.begin(), config->added.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return {};
}

// Reads the limit; 10^30 means none in these files.
Status read_limit(const JsonPlace& root, TextLimit* limit) {
  const JsonPlace most = root.at("model_max_length"), side = root.at("truncation_side");
  if (!most.absent()) {
    if (!most.json().is_number()) return most.wrong("a number");
    const double n = most.json().get<double>();
    if (n >= 1 && n <= INT32_MAX) limit->most_tokens = static_cast<int64_t>(n);
  }
  if (side.absent()) return {};
  if (side.json() != "left" && side.json() != "right") return side.wrong("\"left\" or \"right\"");
  limit->at_end = side.json() == "right";
  return {};
}

// Classes of the transformers library whose models get no token types.
constexpr std::string_view kWithoutTypes[] = {"RobertaTokenizer", "XLMRobertaTokenizer",
                                              "CamembertTokenizer", "DistilBertTokenizer"};

// Finds out if the model gets token types: by model_input_names, else by the class.
Status read_input_names(const JsonPlace& root, TokenizerConfig* config) {
  const JsonPlace names = root.at("model_input_names");
  if (!names.absent()) {
    if (Status array = names.expect_array(); !array.ok()) return array;
    const Json& list = names.json();
    config->gives_types = std::find(list.begin(), list.end(), "token_type_ids") != list.end();
    return {};
  }
  std::string_view name = config->tokenizer_class;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  const bool without = std::ranges::find(kWithoutTypes, name) != std::end(kWithoutTypes);
  if (without) config->gives_types = false;
  return {};
}

Status read_config_file(const ModelPath& path, TokenizerConfig* config) {
  const Result<Json> document = read_json_file(path);
  if (!document.ok()) return document.error();
  const JsonPlace root(*document, path.string());
  if (Status object = root.expect_object(); !object.ok()) return object;
  if (Status done = read_named_tokens(root, config); !done.ok()) return done;
  if (Status done = read_added_tokens(root.at("added_tokens_decoder"), config); !done.ok()) {
    return done;
  }
  if (!root.at("tokenizer_class").absent()) {
    Result<std::string> name = root.at("tokenizer_class").text();
    if (!name.ok()) return name.error();
    config->tokenizer_class = std::move(*name);
  }
  if (!root.at("add_bos_token").absent()) {
    const auto add = root.at("add_bos_token").boolean(false);
    if (!add.ok()) return add.error();
    config->add_bos = *add;
  }
  const auto add_eos = root.at("add_eos_token").boolean(false);
  if (!add_eos.ok()) return add_eos.error();
  config->add_eos = *add_eos;
  const auto space = root.at("add_prefix_space").boolean(false);
  if (!space.ok()) return space.error();
  config->add_prefix_space = *space;
  if (Status done = read_input_names(root, config); !done.ok()) return done;
  return read_limit(root, &config->limit);
}

// Later flags win, as in the tokenizers library. But a token is special if either place says so,
// and one that is not special is matched before normalising if either place says so.
void take_flags(const AddedToken& later, AddedToken& token) {
  token.single_word = later.single_word;
  token.lstrip = later.lstrip;
  token.rstrip = later.rstrip;
  if (!token.special) token.normalized = token.normalized && later.normalized;
  token.special = token.special || later.special;
}

}  // namespace

Status read_end_ids(const ModelPath& path, std::vector<Token>* ids) {
  if (!is_there(path.path())) return {};
  const Result<Json> document = read_json_file(path);
  if (!document.ok()) return document.error();
  const JsonPlace place = JsonPlace(*document, path.string()).at("eos_token_id");
  if (place.absent()) return {};
  const bool list = place.json().is_array();
  for (size_t i = 0; i < (list ? place.json().size() : 1); ++i) {
    const Result<Token> id = read_token_id(list ? place.at(i) : place);
    if (!id.ok()) return id.error();
    ids->push_back(*id);
  }
  return {};
}

Result<TokenizerConfig> read_tokenizer_config(const ModelPath& directory) {
  TokenizerConfig config;
  const ModelPath path = directory / "tokenizer_config.json";
  config.file = path.string();
  if (is_there(path.path())) {
    if (Status done = read_config_file(path, &config); !done.ok()) return done.error();
  }
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (Status done = read_end_ids(directory / name, &config.end_ids); !done.ok()) {
      return done.error();
    }
  }
  return config;
}

Result<AddedToken> read_added_token(const JsonPlace& place) {
  AddedToken token;
  Result<std::string> content = place.at("content").text();
  if (!content.ok()) return content.error();
  if (content->empty()) return place.at("content").wrong("at least one character");
  token.content = std::move(*content);
  const std::pair<const char*, bool*> flags[] = {{"special", &token.special},
                                                 {"single_word", &token.single_word},
                                                 {"lstrip", &token.lstrip},
                                                 {"rstrip", &token.rstrip},
                                                 {"normalized", &token.normalized}};
  for (const auto& [name, flag] : flags) {
    const Result<bool> value = place.at(name).boolean(false);
    if (!value.ok()) return value.error();
    *flag = *value;
  }
  return token;
}

Result<SpecialTokens> find_special_tokens(const TokenizerConfig& config, const Vocab& vocab,
                                          const OwnSpecialTokens& own) {
  SpecialTokens special;
  special.bos = own.bos;
  special.before = own.before;
  special.after = own.after;
  special.templates = own.templates;
  if (config.bos && own.before.empty()) {
    if (const auto bos = vocab.find(*config.bos)) special.bos = bos;
  }
  const std::optional<bool> add_bos = own.is_template ? std::nullopt : config.add_bos;
  if (add_bos == false) special.before.clear();
  const bool lacks_bos = add_bos == true && special.before.empty();
  if (lacks_bos && special.bos) special.before = {*special.bos};
  if (lacks_bos && !special.bos) {
    return bad_file("'{}': field 'add_bos_token' is true, but 'bos_token' names no token",
                    config.file);
  }
  std::unordered_set<Token> there;
  const auto add_end = [&](Token id) {
    if (there.insert(id).second) special.ends.push_back(id);
  };
  for (Token id : config.end_ids) add_end(id);
  const std::optional<Token> eos = config.eos ? vocab.find(*config.eos) : own.eos;
  if (config.eos && !eos) {
    return bad_file("'{}': field 'eos_token' is '{}', expected a token of the vocabulary",
                    config.file, *config.eos);
  }
  if (eos && (config.eos || special.ends.empty())) add_end(*eos);
  if (!config.add_eos || own.is_template) return special;
  if (!eos) {
    return bad_file("'{}': field 'add_eos_token' is true, but 'eos_token' names no token",
                    config.file);
  }
  special.after = {*eos};
  return special;
}

void put_around(const SpecialTokens& special, std::vector<Token>* tokens) {
  const std::vector<Token>& before = special.before;
  const bool there =
      tokens->size() >= before.size() && std::equal(before.begin(), before.end(), tokens->begin());
  if (!there) tokens->insert(tokens->begin(), before.begin(), before.end());
  tokens->insert(tokens->end(), special.after.begin(), special.after.end());
}

Status add_tokens(const std::vector<AddedToken>& tokens, const std::string& file, Vocab* vocab,
                  std::vector<AddedToken>* added) {
  std::unordered_set<Token> there = ids_of(*added);
  const Token highest = max_token(vocab->n_entries() + tokens.size());
  for (const AddedToken& token : tokens) {
    if (token.id > highest) {
      return bad_file("'{}': added token '{}' has id {}, expected an id from 0 to {}", file,
                      token.content, token.id, highest);
    }
    const auto before = vocab->find(token.content);
    if (before && *before != token.id) {
      return bad_file("'{}': added token '{}' has id {}, expected {} as in the vocabulary", file,
                      token.content, token.id, *before);
    }
    if (!before && !vocab->add(token.content, token.id)) {
      return bad_file("'{}': added token '{}' has id {}, expected an unused id ({} is '{}')", file,
                      token.content, token.id, token.id, vocab->text(token.id));
    }
    if (there.insert(token.id).second) added->push_back(token);
  }
  return {};
}

Status add_config_tokens(const TokenizerConfig& config, Vocab* vocab,
                         std::vector<AddedToken>* added) {
  std::unordered_map<Token, size_t> places;
  for (size_t i = 0; i < added->size(); ++i) places.emplace((*added)[i].id, i);
  std::vector<AddedToken> lacking;
  for (const AddedToken& token : config.added) {
    const auto id = vocab->find(token.content);
    const auto place = id ? places.find(*id) : places.end();
    if (place == places.end())
      lacking.push_back(token);
    else
      take_flags(token, (*added)[place->second]);
  }
  if (Status done = add_tokens(lacking, config.file, vocab, added); !done.ok()) return done;
  std::unordered_set<Token> there = ids_of(*added);
  for (const std::string& text : config.named) {
    const auto id = vocab->find(text);
    if (!id || !there.insert(*id).second) continue;
    AddedToken token;
    token.id = *id;
    token.content = text;
    token.special = true;
    added->push_back(std::move(token));
  }
  return {};
}

}  // namespace pando
