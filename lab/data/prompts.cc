#include "lab/data/prompts.h"

#include <algorithm>
#include <utility>

#include "bench/tokens.h"
#include "lab/data/data_sets.h"
#include "lab/data/file_names.h"

namespace pando::lab {

TextTokens::TextTokens(const Harness& harness, int vocab)
    : tokenizer_(value_of(Tokenizer::load(harness.data(kQwenTokenizer)))), vocab_(vocab) {}

std::vector<Token> TextTokens::operator()(std::string_view text, size_t cut) const {
  std::vector<Token> tokens = value_of(tokenizer_->encode(text, false));
  if (cut > 0 && tokens.size() > cut) tokens.resize(cut);
  for (Token& token : tokens) token %= vocab_;
  return tokens;
}

std::vector<std::vector<Token>> TextTokens::of_sample(const std::vector<std::string>& texts,
                                                      size_t n, size_t cut) const {
  std::vector<std::vector<Token>> tokens;
  for (const std::string& text : sample_of(texts, n, 1)) tokens.push_back((*this)(text, cut));
  return tokens;
}

size_t LengthMix::longest() const {
  size_t longest = 0;
  for (const auto& prompt : prompts) longest = std::max(longest, prompt.size());
  return longest;
}

double LengthMix::mean() const {
  size_t sum = 0;
  for (const auto& prompt : prompts) sum += prompt.size();
  return static_cast<double>(sum) / static_cast<double>(std::max<size_t>(prompts.size(), 1));
}

std::vector<LengthMix> length_mixes(const Harness& harness, int vocab, size_t n_prompts) {
  const TextTokens tokens(harness, vocab);
  const std::vector<std::string> paragraphs = wikitext_paragraphs(harness);
  return {mmlu_mix(harness, tokens, n_prompts),
          {"Alpaca", 43, 126, 527, tokens.of_sample(alpaca_texts(harness), n_prompts)},
          {"WikiText 256", 1, 73, 256, tokens.of_sample(paragraphs, n_prompts, 256)},
          {"WikiText 512", 6, 120, 512, tokens.of_sample(paragraphs, n_prompts, 512)}};
}

std::vector<std::string_view> length_mix_files() {
  return {kQwenTokenizer, kWikitext, kMmlu, kAlpaca};
}

LengthMix mmlu_mix(const Harness& harness, const TextTokens& tokens, size_t n_prompts) {
  return {"MMLU", 4, 64, 1102, tokens.of_sample(mmlu_questions(harness), n_prompts)};
}

std::vector<Request> first_tokens(const std::vector<std::vector<Token>>& prompts, int repetition) {
  std::vector<Request> requests;
  for (const std::vector<Token>& prompt : prompts) {
    requests.push_back(request_of(prompt, 1));
    requests.back().isolation_key = static_cast<uint64_t>(repetition) + 1;
  }
  return requests;
}

double computed_tokens(const Sample& sample) {
  return static_cast<double>(sample.stats.prefill_rows + sample.stats.pad_rows);
}

double mean_computed_tokens(const Lane& lane) {
  double sum = 0;
  for (const Sample& sample : lane.samples) sum += computed_tokens(sample);
  return sum / static_cast<double>(lane.samples.size());
}

PairedRatios paired_ratios(const Lane& lane, const Lane& other) {
  std::vector<double> tokens, time, time_by_tokens;
  for (size_t i = 0; i < std::min(lane.samples.size(), other.samples.size()); ++i) {
    tokens.push_back(computed_tokens(other.samples[i]) / computed_tokens(lane.samples[i]));
    time.push_back(other.samples[i].seconds / lane.samples[i].seconds);
    time_by_tokens.push_back(time.back() / tokens.back());
  }
  return {median(std::move(tokens)), median(std::move(time)), median(std::move(time_by_tokens))};
}

}  // namespace pando::lab
