// A batch of shared contexts, run together and again alone.
#pragma once

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "engine/tiny_engine.h"
#include "pando/batch.h"

namespace pando::testing {

// Answers: two questions; nothing; one with choices and two generated; two of one prompt; one.
inline const std::string kVerifyInput =
    R"({"id": "d", "context": "Pando is one tree of many stems.", "questions": ["Why?", "Where?"]})"
    "\n\n"
    R"({"id": "m", "context": "Pando is one tree of many stems.", "questions": [)"
    R"({"text": "One?", "choices": ["yes", "no"]}, "Which?", "Who?"]})"
    "\n"
    R"({"id": "p", "prompt": "Pando is one", "n": 2, "temperature": 1})"
    "\n"
    R"({"id": "s", "prompt": "Pando is", "prompt_logprobs": true, "max_tokens": 0})"
    "\n";

inline BatchOptions verify_options() {
  BatchOptions options;
  options.defaults.sampling.max_tokens = 6;
  options.defaults.sampling.ignore_eos = true;
  options.defaults.logits_hash = true;
  return options;
}

// The hashes of all answers, from one engine that shares.
inline std::map<AnswerKey, uint64_t> run_shared(const std::string& input,
                                                const EngineOptions& engine = tiny_options()) {
  std::map<AnswerKey, uint64_t> hashes;
  BatchOptions options = verify_options();
  options.on_answer = [&](const BatchAnswer& answer) {
    EXPECT_TRUE(hashes.emplace(answer.key, answer.completion.logits_hash).second);
  };
  std::istringstream in(input);
  std::ostringstream out;
  EXPECT_TRUE(run_batch(*open_tiny(engine), in, input.size(), out, options).ok());
  return hashes;
}

inline std::unique_ptr<Engine> open_alone() {
  EngineOptions options = tiny_options();
  options.sharing = "packed";
  options.max_running = 1;
  return open_tiny(options);
}

inline BatchVerification verify(const std::string& input,
                                const std::map<AnswerKey, uint64_t>& hashes) {
  std::istringstream in(input);
  auto verified = verify_batch(*open_alone(), in, verify_options(), hashes);
  if (!verified) throw std::runtime_error(verified.error().message());
  return std::move(*verified);
}

}  // namespace pando::testing
