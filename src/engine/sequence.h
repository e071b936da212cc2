// One answer under way.
#pragma once

#include <memory>
#include <optional>

#include "cache/prefix_tree.h"
#include "engine/stop_matcher.h"
#include "pando/engine.h"
#include "text/tokenizer.h"

namespace pando {

// A request and its open answers; shared by its sequences.
struct ActiveRequest {
  RequestId id = 0;
  Request request;  // tokens are those of the prompt
  Listener listener;
  uint64_t seed = 0;
  int n_open = 0;  // sequences not finished
};

// A path in the prefix tree that grows by one token a step once its prompt is computed.
struct Sequence {
  std::shared_ptr<ActiveRequest> request;
  int choice = 0;
  uint64_t order = 0;   // of arrival: the lower, the older
  Node* tip = nullptr;  // pinned; locked while running
  bool running = false;
  bool done = false;                     // to be removed at the end of the step
  uint32_t max_tokens = 0;               // the request's, bounded by the context
  Completion completion;                 // so far
  std::optional<StreamDecoder> decoder;  // nothing without a tokenizer
  StopMatcher stops;
};

}  // namespace pando
