#include "text/gguf_words.h"

#include <algorithm>
#include <array>

#include "base/errors.h"

namespace pando {
namespace {

struct Entry {
  std::string_view name;
  std::vector<std::string_view> patterns;  // each cuts what the one before gave
  bool nfc = false;
  bool ignore_merges = false;
  bool puts_bos = false;
};

constexpr std::string_view kNumber = R"(\p{N})";
constexpr std::string_view kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kLineEnd = R"([\r\n])";
constexpr std::string_view kCjk = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view kDeepSeekV3 =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)re"
    R"re(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {"default", {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, R"(\p{N}+)", R"([0-9][0-9][0-9])"}},
      {"gpt-2", {kGpt2Pattern}},
      {"phi-2", {kGpt2Pattern}},
      {"olmo", {kGpt2Pattern}, true},
      {"llama-bpe", {kLlama3Pattern}, false, true, true},
      {"llama3", {kLlama3Pattern}, false, true, true},
      {"llama-v3", {kLlama3Pattern}, false, true, true},
      {"dbrx", {kLlama3Pattern}},  // cl100k: Phi-4, OLMo-2
      {"smaug-bpe", {kLlama3Pattern}},
      {"qwen2", {kQwen2Pattern}, true},
      {"deepseek-r1-qwen", {kQwen2Pattern}, true},
      {"deepseek-coder", {kLineEnd, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kCjk, kNumber}},
      {"deepseek-v3", {kUpToThreeDigits, "[一-龥぀-ゟ゠-ヿ]+", kDeepSeekV3}},
      {"starcoder", {kNumber, kGpt2Pattern}},
      {"refact", {kNumber, kGpt2Pattern}},
      {"smollm", {kNumber, kGpt2Pattern}},
      {"command-r", {kNumber, kGpt2Pattern}},
      {"tekken", {kTekken}, false, true, true},
  };
  return all;
}

}  // namespace

Result<GgufWords> gguf_words(std::string_view name, const std::string& file) {
  const auto entry = std::find_if(entries().begin(), entries().end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  if (entry == entries().end()) {
    std::string names;
    for (const Entry& known : entries()) names += fmt::format(" {}", known.name);
    return unsupported("{}: 'tokenizer.ggml.pre' is '{}'; offered here:{}", file, name, names);
  }
  GgufWords words;
  words.ignore_merges = entry->ignore_merges;
  words.puts_bos = entry->puts_bos;
  if (entry->nfc) words.normalizer = Normalizer({UnicodeForm::kNfc});
  std::vector<PreStep> steps;
  for (std::string_view pattern : entry->patterns) {
    Result<SplitPattern> compiled = SplitPattern::compile(pattern);
    if (!compiled.ok()) return compiled.error();
    steps.emplace_back(pre::Split{std::move(*compiled)});
  }
  words.pre_tokenizer = PreTokenizer(std::move(steps));
  return words;
}

}  // namespace pando
