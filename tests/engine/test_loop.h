// An engine loop driven step by step, with the events of its listeners.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/open_loop.h"
#include "engine/options.h"
#include "engine/recording_executor.h"
#include "engine/technique.h"
#include "engine/tiny_engine.h"
#include "text/byte_tokenizer.h"
#include "text/grammar/form_cache.h"

namespace pando::testing {

// Tiny pages, so that short prompts fill many of them.
inline LoopOptions tiny_loop_options() {
  return {.engine = tiny_options(),
          .page_len = 4,
          .tile_len = 8,
          .span_len = 16,
          .least_answers = 1,
          .poison_pages = true};
}

struct Heard {
  Request request;
  std::map<int, Completion> completions;  // by choice
  std::map<int, std::string> text;        // pieces put together, by choice
  std::optional<Error> error;
  bool closed = false;  // nothing may be heard from now on
};

using Answer = std::pair<std::vector<Token>, uint64_t>;  // tokens, logits hash

// Bytes of a page of the model that `tiny_model` makes.
constexpr int kTinyPageBytes = 2048;

// As open_loop, but over an executor that only follows plans, without weights. n_slots: state
// slots, as for a model with recurrent layers. fail_each, refused: see RecordingExecutor. windows:
// as for a model with layers with a window. depth: steps in flight. path_parts: of the memory.
inline Result<std::unique_ptr<EngineLoop>> open_over_plans(const LoopOptions& options,
                                                           size_t n_slots = 0, size_t fail_each = 0,
                                                           const WindowSizes& windows = {},
                                                           int depth = 1, size_t refused = 0,
                                                           const PathParts& path_parts = {}) {
  static const TemporaryFolder folder;
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    if (Status status = write_byte_tokenizer(folder.path()); !status)
      throw std::runtime_error(status.error().message());
    return std::move(Tokenizer::load(folder.path()).value());
  }();
  static grammar::FormCache forms(*tokenizer);
  LoopParts parts{.options = options,
                  .tokenizer = tokenizer.get(),
                  .forms = &forms,
                  .end_ids = {256},
                  .max_positions = kTinyContext};
  EngineOptions& engine = parts.options.engine;
  if (Status status = fill_in(engine, kTinyContext); !status) return status.error();
  Result<Technique> technique = make_technique(engine.sharing, options.tile_len);
  if (!technique) return technique.error();
  parts.planner = std::move(technique->planner);
  Result<std::unique_ptr<StepTiming>> timing = StepTiming::create(engine, options.many_prefills);
  if (!timing) return timing.error();
  parts.timing = std::move(*timing);
  parts.pool = std::make_unique<ThreadPool>(engine.threads);
  parts.executor = std::make_unique<RecordingExecutor>(
      ExecutorFacts{.vocab = kByteTokenizerVocab,
                    .d_model = 4,
                    .page_len = options.page_len,
                    .tile_len = options.tile_len,
                    .n_pages = engine.kv_memory / kTinyPageBytes,
                    .n_parts = path_parts.n_parts,
                    .part_positions = path_parts.n_parts == 1 ? 0 : path_parts.block_len,
                    .page_bytes = kTinyPageBytes,
                    .kv_capacity = engine.kv_memory / kTinyPageBytes * options.page_len,
                    .longest_path = engine.kv_memory / kTinyPageBytes * options.page_len,
                    .window = windows.window,
                    .n_window_pages = windows.n_pages,
                    .window_page_bytes = kTinyPageBytes,
                    .n_slots = n_slots,
                    .depth = depth},
      fail_each, refused);
  return std::make_unique<EngineLoop>(std::move(parts));
}

// Over the plans alone where the environment variable PANDO_TEST_EXECUTOR is "plans".
inline Result<std::unique_ptr<EngineLoop>> open_tiny_loop(const LoopOptions& options) {
  const char* executor = std::getenv("PANDO_TEST_EXECUTOR");
  return executor != nullptr && std::string_view(executor) == "plans"
             ? open_over_plans(options)
             : open_loop(tiny_model()->parts(), options);
}

class TestLoop {
 public:
  explicit TestLoop(const LoopOptions& options = tiny_loop_options())
      : TestLoop(open_tiny_loop(options)) {}
  explicit TestLoop(Result<std::unique_ptr<EngineLoop>> made) {
    if (!made) throw std::runtime_error(made.error().message());
    loop_ = std::move(*made);
  }

  EngineLoop* operator->() { return loop_.get(); }
  EngineStats stats() const { return loop_->stats(); }

  Status submit(RequestId id, Request request) {
    if (request.tokens.empty()) request.tokens = bytes_of(request.prompt);
    heard[id].request = request;
    return loop_->submit(id, std::move(request),
                         [this, id](const Event& event) { hear(id, event); });
  }

  void cancel(RequestId id) {
    loop_->cancel(id);
    heard[id].closed = true;
    loop_->cache().check_invariants();
  }

  bool step() {
    const bool more = loop_->step();
    loop_->deliver_events();
    loop_->cache().check_invariants();
    return more;
  }

  // Steps until nothing is open; the number of steps.
  int run() {
    int n_steps = 0;
    while (step()) {
      if (++n_steps > 100000) throw std::runtime_error("no end of steps");
    }
    EXPECT_EQ(n_pins(), 0u);
    return n_steps;
  }

  std::vector<Answer> answers(RequestId id) const {
    std::vector<Answer> answers;
    for (const auto& [choice, completion] : heard.at(id).completions)
      answers.emplace_back(completion.tokens, completion.logits_hash);
    return answers;
  }

  uint64_t n_pins() const {
    uint64_t n = 0;
    for (const Node* node : loop_->cache().tree().nodes()) n += node->n_pins + node->n_locks;
    return n;
  }

  // Sequences that run, where no two prompts begin with the same token.
  int n_running() const {
    int n = 0;
    for (const Node* node : loop_->cache().tree().nodes())
      if (node->parent->is_root()) n += static_cast<int>(node->n_locks);
    return n;
  }

  std::map<RequestId, Heard> heard;

 private:
  void hear(RequestId id, const Event& event) {
    Heard& h = heard[id];
    EXPECT_FALSE(h.closed) << "request " << id << " hears more";
    EXPECT_EQ(event.request, id);
    if (event.error) {
      h.error = event.error;
      h.closed = true;
      return;
    }
    EXPECT_FALSE(h.completions.contains(event.choice));
    h.text[event.choice] += event.text;
    if (event.completion) {
      EXPECT_EQ(event.completion->choice, event.choice);
      EXPECT_EQ(event.completion->text, h.text[event.choice]);
      h.completions[event.choice] = *event.completion;
      h.closed = static_cast<int>(h.completions.size()) == h.request.sampling.n;
    }
  }

  std::unique_ptr<EngineLoop> loop_;
};

// The answers of a request that has an engine for itself.
inline std::vector<Answer> answers_alone(const Request& request) {
  TestLoop loop;
  if (Status status = loop.submit(1, request); !status)
    throw std::runtime_error(status.error().message());
  loop.run();
  return loop.answers(1);
}

// Memory for n_pages pages of tiny_loop_options().
inline size_t memory_for(size_t n_pages) {
  static const size_t page_bytes = TestLoop()->executor().facts().page_bytes;
  return n_pages * page_bytes;
}

}  // namespace pando::testing
