#include "engine/sampler.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/fault.h"
#include "base/mix.h"

namespace pando {
namespace {

// Uniform in [0, 1), 53 bits.
double uniform(const SamplingKey& key) {
  const uint64_t position = fault_on(Fault::kWrongCounterKey) ? 0 : key.position;
  const uint64_t counter = (uint64_t{key.choice} << 32 | position) + 0x9e3779b97f4a7c15u;
  return static_cast<double>(mix64(mix64(key.seed) ^ mix64(counter)) >> 11) * 0x1p-53;
}

// The lowest id of the largest logit; comparisons with NaN are false.
Token argmax(std::span<const float> logits) {
  constexpr size_t kLanes = 16;  // so that compilers may take vectors
  float most[kLanes];
  std::fill_n(most, kLanes, logits[0]);
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      most[lane] = logits[i + lane] > most[lane] ? logits[i + lane] : most[lane];
  for (; i < logits.size(); ++i) most[0] = logits[i] > most[0] ? logits[i] : most[0];
  for (const float other : most) most[0] = other > most[0] ? other : most[0];
  const auto best = std::find(logits.begin(), logits.end(), most[0]);
  return best == logits.end() ? 0 : static_cast<Token>(best - logits.begin());
}

// The n likeliest tokens, in order; the lower id first among equals.
std::vector<Token> likeliest(std::span<const float> logits, size_t n) {
  std::vector<Token> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  n = std::min(n, tokens.size());
  std::partial_sort(tokens.begin(), tokens.begin() + n, tokens.end(), [&](Token a, Token b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  tokens.resize(n);
  return tokens;
}

constexpr float kNever = -std::numeric_limits<float>::infinity();

// For each byte: addends for eight logits, 0 if the bit is set, else minus infinity.
constexpr size_t kEight = 8;
constexpr std::array<std::array<float, kEight>, 256> kAddOfBits = [] {
  std::array<std::array<float, kEight>, 256> add{};
  for (size_t bits = 0; bits < add.size(); ++bits)
    for (size_t i = 0; i < kEight; ++i) add[bits][i] = (bits >> i & 1) != 0 ? 0.0F : kNever;
  return add;
}();

constexpr size_t kWord = 64;  // bits of a word

// The largest of those with a bit; kNever where none is a number.
float largest_of(const float* logits, uint64_t bits) {  // [kWord]
  float most[kEight];
  std::fill_n(most, kEight, kNever);
  for (size_t begin = 0; begin < kWord; begin += kEight) {
    const auto& add = kAddOfBits[bits >> begin & 0xFF];
    for (size_t i = 0; i < kEight; ++i) {
      const float logit = logits[begin + i] + add[i];
      most[i] = logit > most[i] ? logit : most[i];
    }
  }
  for (const float other : most) most[0] = other > most[0] ? other : most[0];
  return most[0];
}

// argmax() of those that are allowed, at least one.
Token argmax(std::span<const float> logits, std::span<const uint64_t> allowed) {
  const auto bits_at = [&](size_t begin) {
    const uint64_t bits = begin / kWord < allowed.size() ? allowed[begin / kWord] : 0;
    const size_t n = logits.size() - begin;
    return n < kWord ? bits & ((uint64_t{1} << n) - 1) : bits;
  };
  size_t best = logits.size();  // the word of the largest begins here
  float most = kNever;
  for (size_t begin = 0; begin < logits.size(); begin += kWord) {
    const uint64_t bits = bits_at(begin);
    if (bits == 0) continue;
    float of_word = kNever;
    if (std::popcount(bits) > static_cast<int>(kEight) && begin + kWord <= logits.size()) {
      of_word = largest_of(logits.data() + begin, bits);
    } else {
      for (uint64_t left = bits; left != 0; left &= left - 1) {
        const float logit = logits[begin + static_cast<size_t>(std::countr_zero(left))];
        of_word = logit > of_word ? logit : of_word;
      }
    }
    if (best < logits.size() && !(of_word > most)) continue;
    best = begin;
    most = of_word;
  }
  if (best >= logits.size()) return 0;
  uint64_t left = bits_at(best);
  const auto first = static_cast<Token>(best) + std::countr_zero(left);
  for (; left != 0; left &= left - 1)
    if (const Token token = static_cast<Token>(best) + std::countr_zero(left);
        logits[static_cast<size_t>(token)] == most)
      return token;
  return first;  // none is a number
}

// A copy of the logits with masked tokens at minus infinity.
std::vector<float> masked(std::span<const float> logits, std::span<const uint64_t> allowed) {
  if (allowed.empty()) return {logits.begin(), logits.end()};
  std::vector<float> out(logits.size(), kNever);
  for (size_t begin = 0; begin < logits.size() && begin / kWord < allowed.size(); begin += kWord) {
    const uint64_t word = allowed[begin / kWord];
    const size_t n = std::min(kWord, logits.size() - begin);
    if (word == ~uint64_t{0})
      std::copy_n(logits.begin() + static_cast<ptrdiff_t>(begin), n,
                  out.begin() + static_cast<ptrdiff_t>(begin));
    else
      for (uint64_t bits = word; bits != 0; bits &= bits - 1)
        if (const auto i = static_cast<size_t>(std::countr_zero(bits)); i < n)
          out[begin + i] = logits[begin + i];
  }
  return out;
}

void bar(std::vector<float>& logits, std::span<const Token> barred) {
  const std::vector<float> all = logits;
  for (const Token token : barred)
    if (token >= 0 && static_cast<size_t>(token) < logits.size()) logits[token] = kNever;
  if (std::ranges::none_of(logits, [](float logit) { return logit > kNever; })) logits = all;
}

bool has_penalties(const SamplingOptions& o) {
  return o.repetition_penalty != 1 || o.presence_penalty != 0 || o.frequency_penalty != 0;
}

bool is_greedy(const SamplingOptions& o) { return o.temperature <= 0 || o.top_k == 1; }
bool changes_logits(const SamplingOptions& o) { return !o.logit_bias.empty() || has_penalties(o); }

void adjust(std::vector<float>& logits, const SamplingOptions& o, const TokenHistory& history) {
  const auto change = [&](Token token, const auto& by) {
    // A finite logit stays finite, whatever is done to it.
    const double most = std::isfinite(logits[token]) ? std::numeric_limits<float>::max() / 2
                                                     : std::numeric_limits<double>::infinity();
    logits[token] = static_cast<float>(std::clamp(by(double{logits[token]}), -most, most));
  };
  for (const auto& [token, bias] : o.logit_bias)
    change(token, [bias = bias](double x) { return x + bias; });
  if (!has_penalties(o)) return;
  std::map<Token, int> in_answer;
  for (const Token token : history.answer) ++in_answer[token];
  if (o.repetition_penalty != 1) {
    const auto repeated = [&](double x) {
      return x > 0 ? x / o.repetition_penalty : x * o.repetition_penalty;
    };
    for (const Token token : history.in_prompt) change(token, repeated);
    for (const auto& [token, n] : in_answer)
      if (!std::binary_search(history.in_prompt.begin(), history.in_prompt.end(), token))
        change(token, repeated);
  }
  for (const auto& [token, n] : in_answer)
    change(token,
           [&, n = n](double x) { return x - o.presence_penalty - n * o.frequency_penalty; });
}

struct Candidate {
  Token token;
  double weight;  // in proportion to its probability; 1 for the likeliest
};

// Ordered by likelihood with top_k or top_p, otherwise by id.
std::vector<Candidate> candidates(std::span<const float> logits, const SamplingOptions& o) {
  std::vector<Candidate> kept;
  const double largest = logits[argmax(logits)];
  const auto add = [&](Token token) {
    const double weight = std::exp((logits[token] - largest) / o.temperature);
    if (weight > 0 && weight >= o.min_p) kept.push_back({token, weight});
  };
  if (o.top_k > 0) {
    for (const Token token : likeliest(logits, o.top_k)) add(token);
  } else {
    kept.reserve(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) add(static_cast<Token>(i));
  }
  if (o.top_p >= 1) return kept;
  double sum = 0;
  for (const Candidate& candidate : kept) sum += candidate.weight;
  if (o.top_k == 0) {
    // All that is so unlikely weighs less than what top_p leaves out: no need to sort it.
    const double least = 0.5 * (1 - o.top_p) * sum / static_cast<double>(kept.size());
    std::erase_if(kept, [&](const Candidate& candidate) { return candidate.weight < least; });
    std::sort(kept.begin(), kept.end(), [&](const Candidate& a, const Candidate& b) {
      return logits[a.token] != logits[b.token] ? logits[a.token] > logits[b.token]
                                                : a.token < b.token;
    });
  }
  double before = 0;
  size_t n = 0;  // the likeliest is left whatever top_p is
  while (n < kept.size() && (n == 0 || before < o.top_p * sum)) before += kept[n++].weight;
  kept.resize(n);
  return kept;
}

}  // namespace

bool takes_largest(const SamplingOptions& options) {
  return is_greedy(options) && !changes_logits(options);
}

Token sample_token(std::span<const float> logits, const SamplingOptions& options,
                   const SamplingKey& key, const TokenHistory& history) {
  const std::span<const uint64_t> allowed = history.allowed;
  std::vector<float> adjusted;
  const auto likeliest_of = [&] {
    return allowed.empty() ? argmax(logits) : argmax(logits, allowed);
  };
  const bool is_adjusted = changes_logits(options) || !history.barred.empty();
  if (is_adjusted || (!allowed.empty() && !is_greedy(options))) {
    adjusted = masked(logits, allowed);
    if (!history.barred.empty()) bar(adjusted, history.barred);
    adjust(adjusted, options, history);
    logits = adjusted;
  }
  if (is_greedy(options)) return likeliest_of();

  const std::vector<Candidate> kept = candidates(logits, options);
  if (kept.empty()) return likeliest_of();  // logits that are not numbers
  double sum = 0;
  for (const Candidate& candidate : kept) sum += candidate.weight;
  double left = uniform(key) * sum;
  for (const Candidate& candidate : kept) {
    left -= candidate.weight;
    if (left < 0) return candidate.token;
  }
  return kept.back().token;  // rounding left a sliver behind the last one
}

std::vector<TokenLogprob> log_probabilities(std::span<const float> logits,
                                            std::span<const Token> tokens, int n_top) {
  const Token best = argmax(logits);
  const double largest = logits[best];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  const double log_sum = std::log(sum);
  const auto at = [&](Token t) { return static_cast<float>(logits[t] - largest - log_sum); };
  std::vector<std::pair<Token, float>> top;
  if (n_top > 0)
    for (const Token token : likeliest(logits, n_top)) top.emplace_back(token, at(token));
  std::vector<TokenLogprob> found;
  for (const Token token : tokens)
    found.push_back({.token = token, .logprob = at(token), .likeliest = token == best, .top = top});
  return found;
}

TokenLogprob log_probability(std::span<const float> logits, Token token, int n_top) {
  return std::move(log_probabilities(logits, {&token, 1}, n_top)[0]);
}

uint64_t chain_hash(uint64_t hash, std::span<const float> logits) {
  return XXH3_64bits_withSeed(logits.data(), logits.size_bytes(), hash);
}

uint64_t derive_seed(uint64_t engine_seed, const Request& request) {
  const uint64_t identity =
      request.id.empty() ? XXH3_64bits(request.tokens.data(), request.tokens.size() * sizeof(Token))
                         : XXH3_64bits(request.id.data(), request.id.size());
  return mix64(mix64(engine_seed + 0x9e3779b97f4a7c15u) ^ identity);
}

}  // namespace pando
