#include "pando/values/request_options.h"

#include <algorithm>
#include <type_traits>

#include "base/errors.h"
#include "engine/options.h"

namespace pando {
namespace {

using S = SamplingOptions;

constexpr unsigned kAsked = kInLine | kInBody;
constexpr unsigned kCommand = kInCommand | kInJournal;
static_assert(kMostChoices == 4096);  // as the words of "n" say
constexpr double kMostInt = std::numeric_limits<int>::max();
constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();

constexpr RequestOption kOptions[] = {
    {.name = "max_tokens",
     .member = &S::max_tokens,
     .places = kAsked | kCommand,
     .help = "Maximum tokens per answer",
     .expected = "at least 1, or 0 where the prompt is scored",
     .least = 0,
     .most = kMostInt},
    {.name = "min_tokens",
     .member = &S::min_tokens,
     .places = kAsked | kInCommand | kInConfig,
     .help = "Tokens of an answer before a token or text may end it",
     .expected = "0 or more",
     .least = 0,
     .most = kMostInt,
     .config_name = "min_new_tokens"},
    {.name = "temperature",
     .member = &S::temperature,
     .places = kAsked | kCommand | kInSamplingConfig,
     .help = "Randomness; 0 always takes the likeliest token",
     .expected = "0 or more",
     .least = 0},
    {.name = "top_k",
     .member = &S::top_k,
     .places = kAsked | kCommand | kInSamplingConfig,
     .help = "Only the k likeliest tokens; 0: all",
     .expected = "0 (off) or more",
     .least = 0,
     .most = kMostInt},
    {.name = "top_p",
     .member = &S::top_p,
     .places = kAsked | kCommand | kInSamplingConfig,
     .help = "Only the likeliest tokens that sum to p; 0: the likeliest",
     .expected = "0 to 1",
     .least = 0,
     .most = 1},
    {.name = "min_p",
     .member = &S::min_p,
     .places = kAsked | kCommand | kInSamplingConfig,
     .help = "Only tokens at least p times as likely as the likeliest",
     .expected = "0 to 1",
     .least = 0,
     .most = 1},
    {.name = "logit_bias",
     .member = &S::logit_bias,
     .places = kAsked,
     .help = "Added to the logits of these tokens"},
    {.name = "repetition_penalty",
     .member = &S::repetition_penalty,
     .places = kAsked | kCommand | kInConfig,
     .help = "Penalty for tokens already in prompt or answer; 1: off",
     .expected = "more than 0",
     .least = kAboveZero},
    {.name = "presence_penalty",
     .member = &S::presence_penalty,
     .places = kAsked | kCommand,
     .help = "Penalty for tokens already in the answer; 0: off",
     .expected = "a number"},
    {.name = "frequency_penalty",
     .member = &S::frequency_penalty,
     .places = kAsked | kCommand,
     .help = "The same, multiplied by how often a token appears",
     .expected = "a number"},
    {.name = "seed",
     .member = &S::seed,
     .places = kAsked,
     .help = "Seed of the random draws; default: from the engine's seed and the id"},
    {.name = "n",
     .member = &S::n,
     .places = kAsked | kCommand,
     .help = "Answers per question",
     .expected = "1 to 4096",
     .least = 1,
     .most = kMostChoices},
    {.name = "stop",
     .member = &S::stop,
     .places = kAsked | kCommand,
     .help = "Text that ends an answer; may be repeated"},
    {.name = "stop_token_ids",
     .member = &S::stop_tokens,
     .places = kAsked,
     .help = "Tokens that end an answer, besides the model's own"},
    {.name = "ignore_eos",
     .member = &S::ignore_eos,
     .places = kAsked | kCommand,
     .help = "Continue after the end-of-sequence token"},
    {.name = "skip_special_tokens",
     .member = &S::skip_special_tokens,
     .places = kAsked,
     .help = "Special tokens give no text"},
    // Bodies have these two in forms of their own.
    {.name = "logprobs",
     .member = &S::logprobs,
     .places = kInLine | kCommand,
     .help = "ln p of generated tokens",
     .reports = true},
    {.name = "top_logprobs",
     .member = &S::top_logprobs,
     .places = kInLine | kCommand,
     .help = "With every ln p, those of this many likeliest tokens",
     .reports = true,
     .expected = "0 (none) or more",
     .least = 0,
     .most = kMostInt},
};

template <class T>
constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

}  // namespace

std::span<const RequestOption> request_options() { return kOptions; }

const RequestOption* find_option(std::string_view name, OptionPlace place) {
  const auto* found = std::ranges::find_if(kOptions, [&](const RequestOption& option) {
    return option.name == name && option.stands_in(place);
  });
  return found == std::end(kOptions) ? nullptr : found;
}

std::optional<double> option_number(const RequestOption& option, const SamplingOptions& sampling) {
  return std::visit(
      [&]<class T>(T SamplingOptions::*member) -> std::optional<double> {
        if constexpr (kIsNumber<T>) return static_cast<double>(sampling.*member);
        return std::nullopt;
      },
      option.member);
}

void set_option_number(const RequestOption& option, double value, SamplingOptions& sampling) {
  std::visit(
      [&]<class T>(T SamplingOptions::*member) {
        if constexpr (kIsNumber<T>) sampling.*member = static_cast<T>(value);
      },
      option.member);
}

Status check_options(const SamplingOptions& sampling) {
  for (const RequestOption& option : kOptions)
    if (const auto value = option_number(option, sampling); value && !option.holds(*value))
      return blame(option.name,
                   invalid_argument("{} is {}, expected {}", option.name, *value, option.expected));
  if (sampling.min_tokens > sampling.max_tokens)
    return blame("min_tokens",
                 invalid_argument("min_tokens is {}, expected at most max_tokens, which is {}",
                                  sampling.min_tokens, sampling.max_tokens));
  return {};
}

}  // namespace pando
