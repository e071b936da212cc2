// Random runs of an engine with several steps in flight, over an executor that only follows plans.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/random_requests.h"
#include "engine/test_loop.h"

namespace pando::testing {

constexpr int kInFlightCases = 2000;

struct InFlightCase {
  std::string what;  // how it differs from a run with one step at a time; empty: it does not
  size_t n_overlapping = 0;  // steps that were submitted while another was in flight
  size_t n_failed = 0;       // requests whose step failed
  uint64_t n_preempted = 0, n_evicted = 0;
  bool has_states = false, has_windows = false;
};

// Events that the listener of a request received.
struct HeardInFlight {
  std::map<int, Completion> completions;  // by choice
  std::optional<Error> error;
  bool cancelled = false;
};

inline Listener listener_of(HeardInFlight& heard) {
  return [&heard](const Event& event) {
    if (event.completion) heard.completions[event.choice] = *event.completion;
    if (event.error) heard.error = event.error;
  };
}

// Prompts that share beginnings, answers of a form, answers that may end early, embeddings and
// scores.
inline std::vector<Request> requests_in_flight(std::mt19937& rng, size_t longest) {
  std::vector<Request> requests = random_requests(rng, longest);
  for (Request& request : requests) {
    if (request.pooling != Pooling::kNone || request.prompt_logprobs_from) continue;
    if (rng() % 4 == 0) {
      request.sampling.min_tokens = static_cast<int>(rng() % 4);
      request.sampling.frequency_penalty = 1;
      for (Token token = 0; token < 256; token += 3) request.sampling.stop_tokens.push_back(token);
    }
    if (rng() % 4 != 0) continue;
    request.sampling.form = TextForm{.kind = TextForm::Kind::kChoices,
                                     .choices = {"the first", "the second of them", "none"}};
    request.sampling.max_tokens = 12;
    if (rng() % 2 == 0) request.sampling.stop = {"sec"};
  }
  return requests;
}

// Difference of a request's answers from those that are expected.
inline std::string difference(const HeardInFlight& found, const HeardInFlight& expected) {
  if (expected.error) return "alone: " + expected.error->message();
  if (found.completions.size() != expected.completions.size()) return "answers are missing";
  for (const auto& [choice, completion] : expected.completions) {
    const Completion& other = found.completions.at(choice);
    if (other.tokens != completion.tokens) return "tokens differ";
    if (other.logits_hash != completion.logits_hash) return "logits differ";
    if (other.embedding != completion.embedding) return "embeddings differ";
    if (other.text != completion.text) return "texts differ";
    if (other.prompt_logprobs.size() != completion.prompt_logprobs.size())
      return "scores are missing";
  }
  return {};
}

// Few pages, slots or window pages, small steps, failed steps, cancelled requests. Throws if a plan
// is wrong, or a check of the tree trips.
inline InFlightCase run_in_flight(uint64_t seed) {
  std::mt19937 rng(static_cast<uint32_t>(seed)), memory_rng(static_cast<uint32_t>(~seed));
  LoopOptions options = tiny_loop_options();
  const bool is_short = rng() % 2 == 0;
  options.engine.kv_memory = kTinyPageBytes * (is_short ? 16 + rng() % 12 : 400);
  options.engine.sharing = std::array{"tree", "tree", "prefix_cached", "packed"}[rng() % 4];
  if (rng() % 4 != 0) options.engine.step_rows = 1 + static_cast<int>(rng() % 12);
  if (rng() % 4 == 0) options.engine.max_running = 1 + static_cast<int>(rng() % 4);
  const std::vector<Request> requests = requests_in_flight(rng, 40);
  const auto alone = open_over_plans(options);
  if (rng() % 4 == 0) {
    options.engine.policy = "lars";
    options.engine.step_budget = 1e-3;
    options.engine.step_costs =
        R"({"step_s":2e-4,"row_s":[2e-5,2e-5,2e-5,2e-5,2e-5],"head_s":0,"output_s":1e-5,"key_s":1e-7,"read_s":1e-7})";
  }
  const int depth = 2 + static_cast<int>(rng() % 3);
  const size_t fail_each = rng() % 3 == 0 ? 3 + rng() % 15 : 0;
  InFlightCase result{.has_states = seed % 3 == 1, .has_windows = seed % 3 == 2};
  const size_t n_slots = result.has_states ? 2 + memory_rng() % 20 : 0;
  WindowSizes windows;
  if (result.has_windows)
    windows = {.window = 13,
               .tile_len = static_cast<uint32_t>(options.tile_len),
               .n_pages = 8 + memory_rng() % 20};
  options.engine.place_every = 1 + static_cast<int>(memory_rng() % 30);
  const auto made = open_over_plans(options, n_slots, fail_each, windows, depth);
  EngineLoop& loop = *made.value();

  std::map<RequestId, HeardInFlight> heard, expected;
  size_t n_arrived = 0;
  for (int n_steps = 0; n_arrived < requests.size() || loop.n_sequences() > 0; ++n_steps) {
    if (n_steps > 10'000) return {.what = "no end of steps"};
    if (n_arrived < requests.size() && rng() % 2 == 0) {
      const RequestId id = ++n_arrived;
      const Request& request = requests[id - 1];
      const bool taken = loop.submit(id, request, listener_of(heard[id])).ok();
      if (!taken || !alone.value()->submit(id, request, listener_of(expected[id])).ok())
        heard[id].cancelled = true;  // too long
    }
    if (n_arrived > 0 && rng() % 12 == 0) {
      const RequestId id = 1 + rng() % n_arrived;
      loop.cancel(id);
      heard[id].cancelled = true;
      loop.cache().check_invariants();
    }
    loop.step();
    loop.deliver_events();
    loop.cache().check_invariants();
  }
  for (const Node* node : loop.cache().tree().nodes())
    if (node->n_pins + node->n_locks > 0) return {.what = "a path is still pinned or locked"};
  if (loop.cache().places().n_held() > 0) return {.what = "a place is still held"};
  while (alone.value()->step()) continue;
  alone.value()->deliver_events();
  for (const auto& [id, of] : heard) {
    const bool has_failed = of.error && of.error->message() == "this step is to fail";
    result.n_failed += has_failed;
    if (has_failed || of.cancelled) continue;
    result.what = of.error ? of.error->message() : difference(of, expected[id]);
    if (!result.what.empty()) return result;
  }
  result.n_overlapping = dynamic_cast<const RecordingExecutor&>(loop.executor()).n_overlapping();
  result.n_preempted = loop.stats().preemptions;
  result.n_evicted = loop.stats().evicted_pages;
  return result;
}

}  // namespace pando::testing
