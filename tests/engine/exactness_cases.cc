#include "engine/exactness_cases.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "api/open_loop.h"
#include "engine/options.h"
#include "engine/rank_threads.h"
#include "reference/reference_sampler.h"

namespace pando::testing {
namespace {

struct Row {
  RequestId request;
  int choice;
  uint32_t position;
  std::vector<float> logits;
};

struct Outcome {
  Request request;
  std::vector<Completion> completions;
  std::string error;
  bool cancelled = false;
};

// Checks ln p of a token of the prompt against its row of logits.
std::string compare_scored(std::span<const float> logits, Token token, const TokenLogprob& found) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  const double expected = logits[token] - std::log(sum);
  if (found.token == token && std::abs(found.logprob - expected) < 1e-5) return {};
  return fmt::format("token {} with ln p {}, expected {} with {}", found.token, found.logprob,
                     token, expected);
}

// Checks that an answer is a text of its form, or the beginning of one if max_tokens cut it.
std::string compare_text(const Completion& completion, const CaseForm& form, int max_tokens) {
  std::string text;
  for (const Token token : completion.tokens) text += CaseTokenizer().token_bytes(token, true);
  if (completion.finish_reason == FinishReason::kLength) {
    const bool is_beginning = form.goes_on(text) || form.allows(text);
    if (is_beginning && completion.tokens.size() == static_cast<size_t>(max_tokens)) return {};
    return fmt::format("'{}', cut", text);
  }
  if (form.allows(text) && completion.text == text) return {};
  return fmt::format("'{}', '{}'", text, completion.text);
}

// Every completed answer of a request against the reference.
std::string compare(const Outcome& outcome, RequestId id, const reference::Model& reference,
                    const std::vector<Row>& rows, const CaseForm* form, std::span<const Token> ends,
                    int& n_rows, uint64_t& logits_hash) {
  const SamplingOptions& sampling = outcome.request.sampling;
  if (outcome.completions.size() != static_cast<size_t>(sampling.n))
    return fmt::format("request {}: answers are missing", id);
  for (const Completion& completion : outcome.completions) {
    std::vector<Token> tokens = outcome.request.tokens;
    const size_t n_prompt = tokens.size();
    tokens.insert(tokens.end(), completion.tokens.begin(), completion.tokens.end());
    tokens.pop_back();  // nothing follows it
    const std::vector<std::vector<Token>>& begun = outcome.request.begun;
    const size_t n_begun = begun.empty() ? 0 : begun[completion.choice].size();
    const size_t first = outcome.request.prompt_logprobs_from.value_or(n_prompt + n_begun);
    if (first > tokens.size() && n_begun > 0) continue;  // it had all of its tokens
    const std::vector<float> expected = reference.logits(tokens, static_cast<int>(first) - 1);
    size_t n_seen = 0;
    for (const Row& row : rows) {
      if (row.request != id || row.choice != completion.choice) continue;
      if (row.position < first || row.position > tokens.size())
        return fmt::format("request {}: position {} out of range", id, row.position);
      const float* wanted = expected.data() + (row.position - first) * kCaseVocab;
      if (std::memcmp(wanted, row.logits.data(), kCaseVocab * sizeof(float)) != 0)
        return fmt::format("request {} choice {} position {}: logits differ", id, row.choice,
                           row.position);
      ++n_seen;
      if (row.position < n_prompt) {
        if (std::string what = compare_scored({wanted, kCaseVocab}, tokens[row.position],
                                              completion.prompt_logprobs.at(row.position - first));
            !what.empty())
          return fmt::format("request {} position {}: {}", id, row.position, what);
        if (row.position + 1 < n_prompt) continue;
        const std::vector<Token>& others = outcome.request.alternatives;
        if (completion.alternatives.size() != others.size())
          return fmt::format("request {}: {} alternatives, expected {}", id,
                             completion.alternatives.size(), others.size());
        for (size_t i = 0; i < others.size(); ++i)
          if (std::string what =
                  compare_scored({wanted, kCaseVocab}, others[i], completion.alternatives[i]);
              !what.empty())
            return fmt::format("request {}, alternative {}: {}", id, i, what);
        continue;
      }
      const size_t index = row.position - n_prompt;
      const std::span<const Token> answer = std::span(completion.tokens).first(index);
      std::vector<bool> allowed;
      if (form != nullptr) {
        std::string text;
        for (const Token before : answer) text += CaseTokenizer().token_bytes(before, true);
        allowed = form->allowed_after(text, ends);
      }
      const Token token =
          reference::sample({wanted, kCaseVocab}, sampling, sampling.seed.value_or(0), row.choice,
                            row.position, outcome.request.tokens, answer, allowed);
      if (token != completion.tokens[index])
        return fmt::format("request {} choice {} position {}: token {} instead of {}", id,
                           row.choice, row.position, completion.tokens[index], token);
      logits_hash += XXH3_64bits_withSeed(wanted, kCaseVocab * sizeof(float),
                                          (id << 40) ^ (uint64_t{row.position} << 16) ^ row.choice);
    }
    if (n_seen != tokens.size() + 1 - first)
      return fmt::format("request {}: {} rows seen, {} expected", id, n_seen,
                         tokens.size() + 1 - first);
    n_rows += static_cast<int>(n_seen);
    if (form == nullptr) continue;
    if (std::string what = compare_text(completion, *form, sampling.max_tokens); !what.empty())
      return fmt::format("request {} choice {}: text {}", id, completion.choice, what);
  }
  return {};
}

}  // namespace

ExactnessCases::ExactnessCases(CaseWeights kind, std::optional<KvType> kv_type, CaseDevice device)
    : models_(kind, device), kv_type_(kv_type), device_(device) {}

CaseResult ExactnessCases::run(uint64_t seed) { return run(draw_scenario(seed, kv_type_)); }

CaseResult ExactnessCases::run(uint64_t seed, const Timed& timed) {
  return run(draw_timed(seed, kv_type_, timed));
}

CaseResult ExactnessCases::run_recurrent(uint64_t seed) {
  return run(draw_recurrent(seed, kv_type_));
}

CaseResult ExactnessCases::run_windowed(uint64_t seed) {
  return run(draw_windowed(seed, kv_type_));
}

CaseResult ExactnessCases::run_mixture(uint64_t seed) {
  return run(draw_mixture(seed, kv_type_, !models_.in_blocks()));
}

CaseResult ExactnessCases::run_mixture_ranks(uint64_t seed) {
  return run(draw_mixture_ranks(seed, kv_type_, !models_.in_blocks()));
}

CaseResult ExactnessCases::run_ranks(uint64_t seed) {
  return run(draw_ranks(seed, kv_type_, !models_.in_blocks()));
}

CaseResult ExactnessCases::run_latent(uint64_t seed) { return run(draw_latent(seed, kv_type_)); }

CaseResult ExactnessCases::run_eight(uint64_t seed) { return run(draw_eight(seed)); }

CaseResult ExactnessCases::run_in_flight(uint64_t seed) { return run(draw_in_flight(seed)); }

CaseResult ExactnessCases::run_forms(uint64_t seed) {
  return run(draw_forms(seed, kv_type_, !models_.in_blocks()));
}

CaseResult ExactnessCases::run_forms_one_by_one(uint64_t seed) {
  Scenario scenario = draw_forms(seed, kv_type_, !models_.in_blocks());
  scenario.loop.forces_tokens = false;
  return run(scenario);
}

CaseResult ExactnessCases::run_begun(uint64_t seed) {
  Scenario scenario = draw_forms(seed, kv_type_, !models_.in_blocks());
  scenario.cancel_percent = 0;
  const CaseResult whole = run(scenario);
  if (!whole.equal) return whole;
  Rng rng(seed ^ 0xd1b54a32d192ed03);
  for (size_t i = 0; i < scenario.requests.size(); ++i)
    for (const Completion& answer : whole.answers[i]) {
      const int n = uniform(rng, 0, static_cast<int>(answer.tokens.size()));
      scenario.requests[i].begun.emplace_back(answer.tokens.begin(), answer.tokens.begin() + n);
    }
  CaseResult result = run(scenario);
  for (size_t i = 0; result.equal && i < scenario.requests.size(); ++i)
    for (size_t choice = 0; choice < whole.answers[i].size(); ++choice) {
      const Completion &found = result.answers[i][choice], &expected = whole.answers[i][choice];
      if (found.tokens == expected.tokens && found.text == expected.text &&
          found.finish_reason == expected.finish_reason)
        continue;
      result.equal = false;
      result.what =
          fmt::format("request {} choice {} differs behind its first {} tokens\n  {}", i + 1,
                      choice, scenario.requests[i].begun[choice].size(), scenario.describe());
    }
  return result;
}

CaseResult ExactnessCases::run_long(uint64_t seed) { return run(draw_long(seed, kv_type_)); }

CaseResult ExactnessCases::run(Scenario s) {
  if (device_ != CaseDevice::kCpu) as_plain(s);
  if (is_hosted(device_)) as_hosted(s);
  draw_division(s);
  CaseResult result;
  const auto differs = [&](const std::string& what) {
    result.equal = false;
    result.what = what + "\n  " + s.describe();
    return result;
  };
  LoopOptions options = s.loop;
  options.page_len = s.sizes.page_len;
  options.tile_len = s.sizes.tile_len;
  options.span_len = s.sizes.span_len;
  options.poison_pages = true;
  std::optional<RankThreads> ranks;
  if (s.ranks.n_ranks() > 1) {
    ranks.emplace(models_, s.model, s.ranks);
    options.ranks = &ranks->first();
  }
  const CaseTokenizer tokenizer;
  grammar::FormCache forms(tokenizer);
  const bool has_forms = !s.forms.empty();
  Result<std::unique_ptr<EngineLoop>> loop =
      open_loop(ranks ? models_.share(s.model, s.ranks.share_of(0)) : models_.weights(s.model),
                options, has_forms ? &tokenizer : nullptr, has_forms ? &forms : nullptr);
  if (!loop) return differs(loop.error().message());

  std::vector<Row> rows;
  (*loop)->observe_logits(
      [&](RequestId id, int choice, uint32_t position, std::span<const float> logits) {
        rows.push_back({id, choice, position, {logits.begin(), logits.end()}});
      });
  std::map<RequestId, Outcome> outcomes;
  Rng rng(s.seed ^ 0x5bd1e995);
  size_t n_arrived = 0;
  for (int n_steps = 0;; ++n_steps) {
    while (n_arrived < s.requests.size() &&
           ((*loop)->n_sequences() == 0 || chance(rng, s.arrive_percent))) {
      const RequestId id = ++n_arrived;
      Outcome& outcome = outcomes[id];
      outcome.request = s.requests[id - 1];
      const Status status = (*loop)->submit(id, outcome.request, [&outcome](const Event& event) {
        if (event.completion) outcome.completions.push_back(*event.completion);
        if (event.error) outcome.error = event.error->message();
      });
      if (!status) return differs(status.error().message());
    }
    if (!(*loop)->step()) break;
    (*loop)->deliver_events();
    (*loop)->cache().check_invariants();
    if (chance(rng, s.cancel_percent)) {
      const RequestId id = uniform(rng, 1, static_cast<int>(n_arrived));
      (*loop)->cancel(id);
      outcomes[id].cancelled = true;
      (*loop)->cache().check_invariants();
    }
    if (n_steps > 100000) return differs("no end of steps");
  }
  (*loop)->deliver_events();  // of answers that needed no step

  result.stats = (*loop)->stats();
  result.real_sizes = s.sizes.tile_len == 64;
  const reference::Model& expected =
      models_.reference(s.model, kv_dtype(s.loop.engine.kv_type), s.sizes, s.loop.engine.context);
  std::vector<Token> ends = config_of(s.model).eos_ids;
  std::erase_if(ends, [](Token end) { return end >= kCaseVocab; });
  ends.push_back(CaseTokenizer::kEnd);
  result.answers.resize(s.requests.size());
  for (auto& [id, outcome] : outcomes) {
    std::ranges::sort(outcome.completions, {}, &Completion::choice);
    result.answers[id - 1] = outcome.completions;
    const int n_tokens = static_cast<int>(outcome.request.tokens.size());
    result.crosses_3_tiles |= n_tokens > 3 * s.sizes.tile_len;
    result.crosses_3_spans |= n_tokens > 3 * s.sizes.span_len;
    if (!outcome.error.empty()) return differs(outcome.error);
    result.n_cancelled += outcome.cancelled;
    if (outcome.cancelled) continue;
    const CaseForm* form = has_forms ? s.forms[id - 1].get() : nullptr;
    const std::string what =
        compare(outcome, id, expected, rows, form, ends, result.n_rows, result.logits_hash);
    if (!what.empty()) return differs(what);
    if (form == nullptr) continue;
    for (const Completion& completion : outcome.completions)
      result.n_formed += completion.finish_reason == FinishReason::kStop;
  }
  return result;
}

}  // namespace pando::testing
