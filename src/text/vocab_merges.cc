#include "text/vocab_merges.h"

#include "text/bpe.h"
#include "text/byte_level.h"
#include "text/json_file.h"

namespace pando {
namespace {

constexpr std::string_view kDefaultEnd = "<|endoftext|>";  // of GPT-2 and Qwen2

// The steps before merging that a tokenizer class stands for.
struct ClassSteps {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
};

Result<ClassSteps> steps_of_class(const TokenizerConfig& config) {
  std::string_view name = config.tokenizer_class;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  const bool qwen2 = name == "Qwen2Tokenizer";
  const bool gpt2 = name == "GPT2Tokenizer" || name.empty();
  if (!qwen2 && !gpt2) {
    return unsupported(
        "'{}': field 'tokenizer_class' is '{}'; supported: Qwen2Tokenizer, GPT2Tokenizer",
        config.file, config.tokenizer_class);
  }
  Result<SplitPattern> pattern = SplitPattern::compile(qwen2 ? kQwen2Pattern : kGpt2Pattern);
  if (!pattern.ok()) return pattern.error();
  ClassSteps steps;
  std::vector<PreStep> words;
  words.reserve(2);
  if (config.add_prefix_space) words.emplace_back(pre::SpaceBefore{});
  words.emplace_back(pre::Split{std::move(*pattern)});
  steps.pre_tokenizer = PreTokenizer(std::move(words));
  if (qwen2) steps.normalizer = Normalizer({UnicodeForm::kNfc});
  return steps;
}

Status finish_tokens(const TokenizerConfig& config, Vocab* vocab, TokenizerParts* parts) {
  TokenizerConfig completed = config;
  completed.named.emplace_back(kDefaultEnd);
  if (Status done = add_config_tokens(completed, vocab, &parts->added); !done.ok()) return done;
  OwnSpecialTokens own;
  own.eos = vocab->find(kDefaultEnd);
  own.bos = config.tokenizer_class.empty() ? own.eos : std::nullopt;
  Result<SpecialTokens> special = find_special_tokens(config, *vocab, own);
  if (!special.ok()) return special.error();
  parts->special = std::move(*special);
  for (Token id = 0; id < vocab->size(); ++id) {
    const std::string& text = vocab->text(id);
    parts->token_bytes.push_back(from_byte_level(text).value_or(text));
  }
  for (const AddedToken& token : parts->added) parts->token_bytes[token.id] = token.content;
  return {};
}

}  // namespace

std::optional<VocabMergesFiles> find_vocab_merges(const ModelPath& directory) {
  const VocabMergesFiles names[] = {{directory / "vocab.json", directory / "merges.txt"},
                                    {directory / "encoder.json", directory / "vocab.bpe"}};
  for (const VocabMergesFiles& files : names) {
    if (is_there(files.vocab.path())) return files;
  }
  return std::nullopt;
}

Result<TokenizerParts> read_vocab_merges(const VocabMergesFiles& files,
                                         const TokenizerConfig& config) {
  Result<ClassSteps> steps = steps_of_class(config);
  if (!steps.ok()) return steps.error();
  const Result<Json> document = read_json_file(files.vocab);
  if (!document.ok()) return document.error();
  Result<Vocab> vocab = read_vocab(JsonPlace(*document, files.vocab.string()));
  if (!vocab.ok()) return vocab.error();
  const Result<std::string> lines = read_text_file(files.merges);
  if (!lines.ok()) return lines.error();
  const auto merges = read_merge_lines(*lines, files.merges.string(), *vocab);
  if (!merges.ok()) return merges.error();
  Bpe::Options options;
  options.byte_level = true;
  TokenizerParts parts{.model = std::make_unique<Bpe>(*vocab, *merges, options),
                       .normalizer = std::move(steps->normalizer),
                       .pre_tokenizer = std::move(steps->pre_tokenizer)};
  if (Status done = finish_tokens(config, &*vocab, &parts); !done.ok()) return done.error();
  return parts;
}

}  // namespace pando
