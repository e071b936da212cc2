// Prompts of real text: the tokenizer they are read by, and mixes of lengths.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiment.h"
#include "text/tokenizer.h"

namespace pando::lab {

// Tokens of Qwen2.5's tokenizer, in --data. Ids are folded into the vocabulary of a smaller model:
// what texts share they still share.
class TextTokens {
 public:
  TextTokens(const Harness& harness, int vocab);
  // At most `cut` tokens of it; 0: all.
  std::vector<Token> operator()(std::string_view text, size_t cut = 0) const;
  // Picks n of them, the same in every run.
  std::vector<std::vector<Token>> of_sample(const std::vector<std::string>& texts, size_t n,
                                            size_t cut = 0) const;

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  int vocab_;
};

// Prompts as they occur in a data set of Prepacking's table 1.
struct LengthMix {
  const char* name;
  int paper_min, paper_mean, paper_max;  // tokens, of the paper's sample
  std::vector<std::vector<Token>> prompts;

  size_t longest() const;
  double mean() const;
};
// A sample of so many of each, the same in every run. MMLU's is the first of all.
std::vector<LengthMix> length_mixes(const Harness& harness, int vocab, size_t n_prompts);
// Files of --data that these are read from.
std::vector<std::string_view> length_mix_files();
LengthMix mmlu_mix(const Harness& harness, const TextTokens& tokens, size_t n_prompts);

// n different ones of what there is, or all; the same for the same seed.
template <class T>
std::vector<T> sample_of(const std::vector<T>& all, size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> rest = all, taken;
  while (taken.size() < n && !rest.empty()) {
    std::swap(rest[random() % rest.size()], rest.back());
    taken.push_back(std::move(rest.back()));
    rest.pop_back();
  }
  return taken;
}

// Asks each for one token, under an isolation key that is new in each repetition.
std::vector<Request> first_tokens(const std::vector<std::vector<Token>>& prompts, int repetition);

// Tokens that were computed for prompts, pads among them.
double computed_tokens(const Sample& sample);
double mean_computed_tokens(const Lane& lane);

// How much less `lane` computed than `other`, how much faster it was, and the second as a part of
// the first: medians of what each repetition gives.
struct PairedRatios {
  double tokens, time, time_by_tokens;
};
PairedRatios paired_ratios(const Lane& lane, const Lane& other);

}  // namespace pando::lab
