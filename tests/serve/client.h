// A server over the tiny model, and a plain client for it. Loopback only.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/tiny_engine.h"
#include "serve/server.h"

namespace pando::testing {

using Json = nlohmann::json;

inline serve::ServerOptions tiny_server_options() {
  serve::ServerOptions options;
  options.port = 0;
  options.model_names = {"tiny"};
  options.drain_timeout = std::chrono::seconds(10);
  return options;
}

class RunningServer {
 public:
  explicit RunningServer(serve::ServerOptions options = tiny_server_options(),
                         const EngineOptions& engine_options = tiny_options())
      : RunningServer(std::move(options), open_tiny(engine_options)) {}
  RunningServer(serve::ServerOptions options, std::unique_ptr<Engine> engine,
                bool stop_on_signals = false);
  ~RunningServer() { stop(); }
  void stop() {
    server_->stop();
    join();
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  uint16_t port() const { return server_->port(); }
  Engine& engine() { return *engine_; }
  serve::Server& server() { return *server_; }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<serve::Server> server_;
  std::thread thread_;
};

struct Answer {
  int status = 0;
  std::string body;
  std::string content_type, retry_after, allow, request_id;
  std::string ignored_fields;  // as a lenient server lists them

  Json json() const { return Json::parse(body); }
  // Reads a stream: the data of its events, without [DONE], which must stand at the end.
  std::vector<Json> events() const;
  // Does the same for a stream whose events have names, which must be their types.
  std::vector<Json> named_events() const;
};

// The bytes of a POST, for clients that write them in their own way. headers: whole lines.
std::string post_text(std::string_view path, std::string_view body, std::string_view headers = "");

// A connection that is kept. What fails throws boost::system::system_error.
class Client {
 public:
  explicit Client(uint16_t port);
  ~Client();

  Answer ask(const std::string& method, const std::string& path, const std::string& body = "",
             const std::string& key = "", const std::string& type = "application/json");
  Answer get(const std::string& path) { return ask("GET", path); }
  Answer post(const std::string& path, const Json& body) { return ask("POST", path, body.dump()); }

  // Asks and does not read.
  void begin(const std::string& path, const Json& body);
  void send(const std::string& bytes);
  Answer read();
  void skip_until(std::string_view end);  // reads so far, and drops it
  size_t skip(size_t n_bytes);  // reads and drops; how many: fewer where the other side closed
  // Reads until the other side closes; is_end: it ended what it sent, and broke nothing off.
  std::string read_all(bool* is_end = nullptr);
  size_t n_waiting();  // bytes that came and were not read
  void set_receive_buffer(int n_bytes);
  void end_sending();
  void close();

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

// Until it holds, or a minute.
template <class Holds>
bool soon(Holds holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Far more than a test waits for: answers of 500 tokens. A fast machine computes 64 of them in half
// a second, and kManyAnswers not while a thread is kept waiting.
constexpr int kManyAnswers = 1024;
Json endless_body(int n_answers = 64);

// No answer is open, and no step is computed for a while.
bool is_idle(RunningServer& server);

}  // namespace pando::testing
