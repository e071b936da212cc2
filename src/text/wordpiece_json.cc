#include "text/wordpiece_json.h"

#include <algorithm>
#include <array>

#include "text/tokenizer_json.h"
#include "text/wordpiece.h"

namespace pando {
namespace {

constexpr std::string_view kDefaultPrefix = "##";

// Special tokens of BERT, with the fields that name others.
constexpr std::array<std::pair<const char*, const char*>, 5> kBertTokens = {
    {{"unk_token", "[UNK]"},
     {"sep_token", "[SEP]"},
     {"pad_token", "[PAD]"},
     {"cls_token", "[CLS]"},
     {"mask_token", "[MASK]"}}};

Json step(const char* type) { return {{"type", type}}; }

Json template_text(const char* id, int type) {
  return {{"Sequence", {{"id", id}, {"type_id", type}}}};
}

Json template_token(const std::string& text, int type) {
  return {{"SpecialToken", {{"id", text}, {"type_id", type}}}};
}

Json pair_template(const std::string& cls, const std::string& sep) {
  Json processor = step("TemplateProcessing");
  processor["single"] =
      Json::array({template_token(cls, 0), template_text("A", 0), template_token(sep, 0)});
  processor["pair"] = processor["single"];
  processor["pair"].push_back(template_text("B", 1));
  processor["pair"].push_back(template_token(sep, 1));
  return processor;
}

// The ids of the lines. The last of equal lines counts.
Json vocab_of_lines(std::string_view text) {
  Json vocab = Json::object();
  for (int id = 0; !text.empty(); ++id) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) vocab[std::string(line)] = id;
  }
  return vocab;
}

// A name of a special token, or the default.
Result<std::string> name_of_token(const JsonPlace& place, const char* otherwise) {
  if (place.absent()) return std::string(otherwise);
  return place.json().is_object() ? place.at("content").text() : place.text();
}

Result<Json> bert_normalizer(const JsonPlace& config) {
  Json normalizer = step("BertNormalizer");
  const std::pair<const char*, const char*> flags[] = {
      {"do_lower_case", "lowercase"}, {"tokenize_chinese_chars", "handle_chinese_chars"}};
  for (const auto& [name, field] : flags) {
    const Result<bool> value = config.at(name).boolean(true);
    if (!value.ok()) return value.error();
    normalizer[field] = *value;
  }
  const JsonPlace accents = config.at("strip_accents");
  const Result<bool> strips = accents.boolean(false);
  if (!strips.ok()) return strips.error();
  if (!accents.absent()) normalizer["strip_accents"] = *strips;
  return normalizer;
}

Status check_class(const TokenizerConfig& config) {
  std::string_view name = config.tokenizer_class;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  if (name.empty() || name == "BertTokenizer" || name == "DistilBertTokenizer") return {};
  return unsupported(
      "'{}': field 'tokenizer_class' is '{}'; supported with vocab.txt: BertTokenizer, "
      "DistilBertTokenizer",
      config.file, config.tokenizer_class);
}

}  // namespace

bool is_wordpiece(const JsonPlace& model) {
  if (model.at("type").absent()) return !model.at("max_input_chars_per_word").absent();
  return model.type_name() == "WordPiece";
}

Result<std::unique_ptr<const WordModel>> read_wordpiece(const JsonPlace& model,
                                                        const Vocab& vocab) {
  WordPiece::Options options{.unknown = 0, .first = "", .later = std::string(kDefaultPrefix)};
  const JsonPlace prefix = model.at("continuing_subword_prefix"), unknown = model.at("unk_token"),
                  most = model.at("max_input_chars_per_word");
  if (!prefix.absent()) {
    Result<std::string> text = prefix.text();
    if (!text.ok()) return text.error();
    options.later = std::move(*text);
  }
  const Result<std::string> name =
      unknown.absent() ? Result<std::string>(std::string("[UNK]")) : unknown.text();
  if (!name.ok()) return name.error();
  const auto id = vocab.find(*name);
  if (!id) return unknown.wrong("a token of the vocabulary");
  options.unknown = *id;
  if (!most.absent()) {
    const Result<int64_t> n = most.integer();
    if (!n.ok()) return n.error();
    if (*n < 0) return most.wrong("a number of characters");
    options.most_characters = static_cast<size_t>(*n);
  }
  return std::unique_ptr<const WordModel>(std::make_unique<WordPiece>(vocab, options));
}

Result<TokenizerParts> read_vocab_txt(const ModelPath& directory, const TokenizerConfig& config) {
  if (Status known = check_class(config); !known.ok()) return known.error();
  const ModelPath file = directory / "vocab.txt";
  const Result<std::string> lines = read_text_file(file);
  if (!lines.ok()) return lines.error();
  Result<Json> settings = Json::object();
  if (const ModelPath path = directory / "tokenizer_config.json"; is_there(path.path()))
    settings = read_json_file(path);
  if (!settings.ok()) return settings.error();
  const JsonPlace root(*settings, config.file);
  const Json vocab = vocab_of_lines(*lines);
  std::vector<std::string> names;
  Json added = Json::array();
  for (const auto& [field, otherwise] : kBertTokens) {
    Result<std::string> name = name_of_token(root.at(field), otherwise);
    if (!name.ok()) return name.error();
    if (!vocab.contains(*name))
      return bad_file("'{}' lacks the token '{}', expected as {}", file.string(), *name, field);
    added.push_back({{"id", vocab[*name]}, {"content", *name}, {"special", true}});
    names.push_back(std::move(*name));
  }
  Result<Json> normalizer = bert_normalizer(root);
  if (!normalizer.ok()) return normalizer.error();
  Json decoder = step("WordPiece");
  decoder["prefix"] = kDefaultPrefix;
  decoder["cleanup"] = true;
  Json model = step("WordPiece");
  model["vocab"] = vocab;
  model["unk_token"] = names[0];
  const Json document = {{"model", model},
                         {"normalizer", std::move(*normalizer)},
                         {"pre_tokenizer", step("BertPreTokenizer")},
                         {"post_processor", pair_template(names[3], names[1])},
                         {"decoder", decoder},
                         {"added_tokens", added}};
  return read_tokenizer_json(JsonPlace(document, file.string()), config);
}

}  // namespace pando
