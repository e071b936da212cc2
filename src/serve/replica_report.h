// A server's report to a router: whether its answers have the bits of another's, how much work it
// has, and which beginnings of prompts its cache can hold.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "pando/engine.h"
#include "schedule/held_pieces.h"
#include "schedule/predictor.h"
#include "serve/http.h"
#include "serve/options.h"

namespace pando::serve {

struct Service;

// Any thread.
class ReplicaFacts {
 public:
  // process: tells this server from an earlier one at the same address. The engine must live
  // longer.
  ReplicaFacts(const Engine& engine, const ServerOptions& options, std::string process);

  // The prompts of a body are computed here. owner: as its router says. n_tokens: of its prompt; 0
  // if it has several.
  void add_prompt(uint64_t owner, std::string_view path, const Json& body, size_t n_tokens);
  // Mean over the prompts so far.
  double bytes_per_token() const;

  // Pieces that were added since a version.
  HeldDigest held_since(uint64_t version) const;
  const std::string& process() const { return process_; }
  // Equal for servers whose answers have the same bits and texts.
  const std::string& fingerprint() const { return fingerprint_; }

  // Predicted seconds; measured means where the engine predicts no time.
  struct Times {
    double prompt_token = 0;  // of each token of a prompt
    double prompt_key = 0;    // more, for each position before it
    double step = 0;          // of a step with one token of each running answer
    double queued = 0;        // of all prompts that are not computed
  };
  Times times(const EngineStats& stats) const;

 private:
  const std::string process_, fingerprint_;
  std::optional<Predictor> predictor_;  // absent: the engine predicts no time
  const size_t kv_tokens_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  HeldPieces held_;
  double n_bytes_ = 0, n_tokens_ = 0;  // of prompts
};

// POST /v1/replica, {"since": version}; for routers alone.
Result<HttpResponse> replica_report(Service& service, const HttpRequest& request, const Json& body);

}  // namespace pando::serve
