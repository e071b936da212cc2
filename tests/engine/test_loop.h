// An engine loop driven step by step, with what its listeners heard.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_loop.h"
#include "engine/model_parts.h"
#include "engine/tiny_engine.h"

namespace pando::testing {

// Tiny pages, so that short prompts fill many of them.
inline LoopOptions tiny_loop_options() {
  return {
      .engine = tiny_options(), .page_len = 4, .tile_len = 8, .span_len = 16, .poison_pages = true};
}

struct Heard {
  Request request;
  std::map<int, Completion> completions;  // by choice
  std::map<int, std::string> text;        // pieces put together, by choice
  std::optional<Error> error;
  bool closed = false;  // nothing may be heard from now on
};

using Answer = std::pair<std::vector<Token>, uint64_t>;  // tokens, logits hash

class TestLoop {
 public:
  explicit TestLoop(const LoopOptions& options = tiny_loop_options()) {
    const Model::Parts& parts = tiny_model()->parts();
    Result<std::unique_ptr<EngineLoop>> made =
        EngineLoop::create(parts.weights, parts.tokenizer.get(), options);
    if (!made) throw std::runtime_error(made.error().message);
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
    throw std::runtime_error(status.error().message);
  loop.run();
  return loop.answers(1);
}

// Memory for so many pages of tiny_loop_options().
inline size_t memory_for(size_t n_pages) {
  static const size_t page_bytes = TestLoop()->cache().pool().page_bytes();
  return n_pages * page_bytes;
}

}  // namespace pando::testing
