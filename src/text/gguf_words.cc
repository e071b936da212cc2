#include "text/gguf_words.h"

#include <algorithm>

#include "base/errors.h"
#include "text/bpe.h"
#include "text/gguf_word_patterns.h"

namespace pando {
namespace {

namespace words = gguf_patterns;

// Pre-tokenizer of one or more names.
struct Entry {
  std::vector<std::string_view> names;
  std::vector<std::string_view> patterns;  // each cuts the pieces of the one before
  bool nfc = false;
  // Runs of digits that are cut in threes from the right; empty: no digits are grouped.
  std::string_view threes = {};
  bool threes_apart = true;
  GgufWords flags = {};
};

// The names are those of llama.cpp. The expressions are those that the models' own tokenizer.json
// files have, where they are known, else those that llama.cpp has.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"default"}, {words::kRunsOfSymbols, kGpt2Pattern, words::kNumbers, words::kThreeAscii}},
      {{"gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0",
        "mellum", "exaone4", "jais", "trillion", "granite-docling", "jina-v1-en", "jina-v2-code",
        "roberta-bpe"},
       {kGpt2Pattern}},
      {{"olmo", "mpt", "modern-bert"}, {kGpt2Pattern}, true},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b",
        "mellum2"},
       {words::kNumber, kGpt2Pattern}},
      {{"falcon"}, {words::kRunsOfMoreSymbols, kGpt2Pattern, words::kThreeAscii}},
      {{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano"},
       {kLlama3Pattern},
       false,
       {},
       true,
       {.ignore_merges = true, .puts_bos = true}},
      {{"dbrx", "smaug-bpe"}, {kLlama3Pattern}},  // cl100k: Phi-4, OLMo-2
      {{"chatglm-bpe"}, {kLlama3Pattern}, false, {}, true, {.has_default_bos = false}},
      {{"glm4", "glm5"},
       {kLlama3Pattern},
       false,
       {},
       true,
       {.ignore_merges = true, .has_default_bos = false}},
      {{"jais-2"}, {words::kJais2}},
      {{"minicpm5"},
       {words::kUpToThree, words::kMiniCpm5},
       false,
       {},
       true,
       {.ignore_merges = true}},
      {{"qwen2", "deepseek-r1-qwen", "f2llmv2"}, {kQwen2Pattern}, true},
      {{"stablelm2", "kormo", "megrez", "hunyuan", "solar-open", "grok-2"}, {kQwen2Pattern}},
      {{"qwen35"}, {words::kQwen35}},
      {{"laguna"}, {words::kLines, kQwen2Pattern}},
      {{"ufakzeka"}, {words::kUfakzeka}},
      {{"seed-coder"}, {words::kSeedCoder}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, {words::kBailing}},
      {{"exaone-moe"}, {words::kExaoneMoe}},
      {{"deepseek-llm"},
       {words::kLineEnd, words::kDeepSeekLetters, words::kDeepSeekSymbols, words::kSpacesAtEnd,
        words::kDeepSeekCjk, words::kNumbers}},
      {{"deepseek-coder"},
       {words::kLineEnd, words::kSpaceAndLetters, words::kSpaceAndPunctuation, words::kDeepSeekCjk,
        words::kNumber}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
       {words::kUpToThree, words::kHanAndKana, words::kDeepSeekV3}},
      {{"spark2_5"}, {words::kUpToThree, words::kHanAndKana, words::kSpark, words::kNumber}},
      {{"afmoe"}, {words::kAsianScripts, words::kDeepSeekV3}, false, words::kNumberRun},
      {{"poro-chat", "bloom", "gpt3-finnish"}, {words::kBloom}},
      {{"viking"}, {words::kBloom, words::kNumber}},
      {{"tekken"}, {words::kTekken}, false, {}, true, {.ignore_merges = true, .puts_bos = true}},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {words::kGpt4o}},
      {{"granite-embed-multi-97m"}, {words::kGpt4o}, false, {}, true, {.ignore_merges = true}},
      {{"tiny_aya", "cohere2moe"}, {words::kGpt4o}, false, words::kDigitsBeforeNoWord},
      {{"superbpe"}, {words::kNumbers}, false, words::kDigitRun, false},
      {{"kimi-k2"}, {words::kKimi}, false, {}, true, {.merges_may_lack = true}},
      {{"youtu"}, {words::kYoutuScripts, words::kYoutu}, false, {}, true, {.ignore_merges = true}},
      {{"chameleon"},
       {words::kSentinel, words::kImage, words::kChameleonSpaces, words::kNumber,
        words::kChameleonSymbol, kGpt2Pattern},
       false,
       {},
       true,
       {.puts_bos = true}},
      // Tokens are texts, as SentencePiece writes them.
      {{"gemma4", "granite-embed-multi-311m"},
       {words::kLines},
       false,
       {},
       true,
       {.byte_level = false,
        .marks_spaces = true,
        .joins_line_ends = true,
        .always_puts_bos = true}},
      {{"sarvam-moe"},
       {words::kLines},
       false,
       {},
       true,
       {.byte_level = false, .marks_spaces = true}},
      {{"whitespace"}, {words::kNoSpaces}, false, {}, true, {.byte_level = false}},
  };
  return all;
}

Result<PreTokenizer> pre_tokenizer_of(const Entry& entry) {
  std::vector<PreStep> steps;
  std::vector<PreStep> threes;
  if (!entry.threes.empty()) {
    Result<SplitPattern> runs = SplitPattern::compile(entry.threes);
    if (!runs.ok()) return runs.error();
    threes.emplace_back(pre::Threes{std::move(*runs), entry.threes_apart});
  }
  for (std::string_view pattern : entry.patterns) {
    Result<SplitPattern> compiled = SplitPattern::compile(pattern);
    if (!compiled.ok()) return compiled.error();
    steps.emplace_back(pre::Split{std::move(*compiled)});
  }
  // Digits are grouped before all patterns; only superbpe has a pattern that finds the runs first.
  const auto at = entry.threes_apart ? steps.begin() : steps.end();
  steps.insert(at, std::make_move_iterator(threes.begin()), std::make_move_iterator(threes.end()));
  return PreTokenizer(std::move(steps));
}

}  // namespace

Result<GgufWords> gguf_words(std::string_view name, const std::string& file) {
  const auto entry = std::find_if(entries().begin(), entries().end(), [&](const Entry& entry) {
    return std::find(entry.names.begin(), entry.names.end(), name) != entry.names.end();
  });
  if (entry == entries().end()) {
    return in_file(file, unsupported("'tokenizer.ggml.pre' is '{}'; supported: {}", name,
                                     fmt::join(gguf_word_names(), " ")));
  }
  GgufWords words = entry->flags;
  std::vector<NormalStep> normal;
  if (entry->nfc) normal.emplace_back(UnicodeForm::kNfc);
  if (words.marks_spaces) normal.emplace_back(normal::Replace{" ", std::string(kSpaceMark)});
  words.normalizer = Normalizer(std::move(normal));
  Result<PreTokenizer> pre_tokenizer = pre_tokenizer_of(*entry);
  if (!pre_tokenizer.ok()) return pre_tokenizer.error();
  words.pre_tokenizer = std::move(*pre_tokenizer);
  return words;
}

std::vector<std::string_view> gguf_word_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries()) {
    names.insert(names.end(), entry.names.begin(), entry.names.end());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace pando
