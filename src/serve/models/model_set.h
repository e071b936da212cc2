// Answers requests with several models. Each has its own engine.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <vector>

#include "serve/models/model_shelf.h"
#include "serve/models/set_metrics.h"
#include "serve/state_door.h"

namespace pando::serve {

struct ModelSetOptions {
  size_t memory = 0;    // bytes for weights, keys and values of all models
  int nice = 0;         // of the threads for texts and batches
  int max_batched = 1;  // lines of batches that are asked at once
};

// Any thread may use it. A request goes to the model that it names, in its body or as `model` in
// its query; a server of one model answers requests that name none.
struct ModelSet : StateDoor {
  // Errors: kInvalidArgument for keys, kBadFile for what is stored.
  static Result<std::unique_ptr<ModelSet>> open(const ServerOptions& options,
                                                const ModelSetOptions& set,
                                                std::vector<ModelRecipe> recipes);

  SetMetrics metrics;
  boost::asio::thread_pool text_pool;  // for reading bodies
  ModelShelf shelf;

  HttpMetrics& http_metrics() override { return metrics; }
  boost::asio::awaitable<void> handle(HttpRequest& request, Replier& replier) override;
  bool serves(const std::string& model) const override { return shelf.find(model).has_value(); }
  void close() override;
  std::string not_served(const std::string& model) const override;

 private:
  ModelSet(const ServerOptions& options, const ModelSetOptions& set, ServerKeys keys,
           StateParts parts, std::vector<ModelRecipe> recipes);
  boost::asio::awaitable<void> pass_on(size_t model, HttpRequest& request, Replier& replier);
};

}  // namespace pando::serve
