// A tiny random model that speaks bytes, for the tests of engine, task and batch.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/test_files.h"
#include "pando/engine.h"
#include "pando/make_model.h"

namespace pando::testing {

constexpr int kTinyContext = 640;

inline std::shared_ptr<const Model> make_tiny_model(const std::filesystem::path& folder,
                                                    int max_positions = kTinyContext) {
  RandomModelOptions options;
  options.shape = "tiny-qwen3";
  options.out = folder / "model";
  options.seed = 3;
  options.max_positions = max_positions;
  if (Status status = make_random_model(options); !status)
    throw std::runtime_error(status.error().message());
  Result<std::shared_ptr<const Model>> loaded = Model::load(options.out);
  if (!loaded) throw std::runtime_error(loaded.error().message());
  return std::move(*loaded);
}

// Made once for each program.
inline const std::shared_ptr<const Model>& tiny_model() {
  static const TemporaryFolder folder;
  static const std::shared_ptr<const Model> model = make_tiny_model(folder.path());
  return model;
}

// One thread, and room for everything, unless changed.
inline EngineOptions tiny_options() {
  EngineOptions options;
  options.threads = 1;
  options.kv_memory = size_t{64} << 20;
  return options;
}

inline std::unique_ptr<Engine> open_tiny(const EngineOptions& options = tiny_options(),
                                         const std::shared_ptr<const Model>& model = tiny_model()) {
  Result<std::unique_ptr<Engine>> engine = Engine::open(model, options);
  if (!engine) throw std::runtime_error(engine.error().message());
  return std::move(*engine);
}

inline Request tiny_request(const std::string& prompt, int max_tokens = 6) {
  Request request;
  request.prompt = prompt;
  request.sampling.max_tokens = max_tokens;
  request.sampling.ignore_eos = true;
  request.logits_hash = true;
  return request;
}

// Takes far longer than a test: 64 answers of 500 tokens.
inline Request endless_request(const std::string& prompt) {
  Request request = tiny_request(prompt, 500);
  request.sampling.n = 64;
  request.sampling.temperature = 1;
  return request;
}

// Holds up an engine's thread in a listener. Outlives the engine.
class Gate {
 public:
  // Waits for open().
  void pass() {
    std::unique_lock lock(mutex_);
    is_reached_ = true;
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, kLimit, [&] { return is_open_; }));
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLimit, [&] { return is_reached_; }));
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::chrono::minutes kLimit{2};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_reached_ = false, is_open_ = false;
};

inline std::vector<Token> bytes_of(const std::string& text) {
  std::vector<Token> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

}  // namespace pando::testing
