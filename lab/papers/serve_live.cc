// Windows over HTTP.
#include <algorithm>
#include <memory>
#include <thread>

#include "api/engine.h"
#include "api/open_loop.h"
#include "base/errors.h"
#include "bench/tokens.h"
#include "lab/experiment.h"
#include "lab/papers/serve_client.h"
#include "lab/papers/serve_contenders.h"
#include "serve/server.h"

namespace pando::lab {
namespace {

constexpr uint64_t kTokenSeed = 11;
constexpr int kWarm = 8;  // short requests that do not count
constexpr double kWarmSeconds = 60;

// `pando serve` in this process, on a port of its own.
class LocalServer {
 public:
  LocalServer(std::shared_ptr<const Model> model, const LoopOptions& options)
      : engine_(value_of(open_engine(std::move(model), options))),
        server_(value_of(serve::Server::open(*engine_, {.port = 0, .model_names = {"model"}}))),
        thread_([this] { server_->run(/*stop_on_signals=*/false); }) {}
  ~LocalServer() {
    server_->stop();
    thread_.join();
  }
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  uint16_t port() const { return server_->port(); }
  const Engine& engine() const { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<serve::Server> server_;
  std::thread thread_;
};

std::vector<Ask> asks_of(const ServedModel& served, const std::vector<ServedRequest>& requests,
                         RandomTokens& random) {
  std::vector<Ask> asks;
  for (const ServedRequest& request : requests)
    asks.push_back(
        {request.arrival, completion_body(random(static_cast<int>(request.n_prompt)),
                                          request.n_answer, request.deadlines, served.letter)});
  return asks;
}

std::vector<Streamed> ask(const LocalServer& server, const std::vector<Ask>& asks, double end) {
  std::vector<Streamed> all = ask_open_loop(server.port(), asks, end);
  for (const Streamed& streamed : all)
    if (!streamed.error.empty())
      throw BenchmarkError(
          make_error(ErrorCode::kInternal, "the server answered: {}", streamed.error));
  return all;
}

// Room for all that is asked, so that nothing waits for memory.
size_t kv_memory_for(const ServedModel& served, const std::vector<ServedRequest>& requests) {
  constexpr size_t kPartialPages = 64;  // positions beside a sequence's tokens, in its own pages
  size_t n_tokens = 4096;
  for (const ServedRequest& request : requests)
    n_tokens += request.n_prompt + request.n_answer + kPartialPages;
  return n_tokens * served.kv_token_bytes;
}

}  // namespace

LiveWindow serve_live(const ServedModel& served, const Contender& who,
                      std::vector<ServedRequest> requests, Span span) {
  EngineOptions options = who.engine;
  options.kv_memory = kv_memory_for(served, requests);
  options.kv_ahead = options.kv_memory / 10 * 9;
  options.nice = serve::kEngineNice;
  RandomTokens random(kTokenSeed, served.model->info().vocab);
  const std::vector<Ask> asks = asks_of(served, requests, random);
  // The longest too: memory that a step of it works in is touched once in a server's life.
  const auto [shortest, longest] =
      std::ranges::minmax_element(requests, {}, &ServedRequest::n_prompt);
  std::vector<ServedRequest> warm(kWarm, *shortest);
  warm.push_back(*longest);
  for (ServedRequest& request : warm) request.arrival = 0;
  const LocalServer server(served.model, {.engine = options, .many_prefills = who.many_prefills});
  wait_until_ready(server.engine());  // as a server that has been at work
  ask(server, asks_of(served, warm, random), kWarmSeconds);
  const EngineStats before = server.engine().stats();
  const std::vector<Streamed> all = ask(server, asks, span.end);
  LiveWindow live{.window = {span, std::move(requests), {}},
                  .stats = server.engine().stats().since(before)};
  for (const Streamed& streamed : all) live.window.outcomes.push_back({streamed.tokens});
  return live;
}

}  // namespace pando::lab
