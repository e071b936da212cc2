// A server over the tiny model, and a plain client for it. Loopback only.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
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
  options.model_name = "tiny";
  options.drain_timeout = std::chrono::seconds(10);
  return options;
}

class RunningServer {
 public:
  explicit RunningServer(serve::ServerOptions options = tiny_server_options(),
                         const EngineOptions& engine_options = tiny_options())
      : RunningServer(std::move(options), open_tiny(engine_options)) {}
  RunningServer(serve::ServerOptions options, std::unique_ptr<Engine> engine)
      : engine_(std::move(engine)) {
    auto server = serve::Server::open(*engine_, options);
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
    thread_ = std::thread([this] { server_->run(/*stop_on_signals=*/false); });
  }
  ~RunningServer() { stop(); }
  void stop() {
    server_->stop();
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

  Json json() const { return Json::parse(body); }
  // Of a stream: the data of its events, without [DONE], which must stand at the end.
  std::vector<Json> events() const {
    constexpr std::string_view kDone = "data: [DONE]\n\n";
    EXPECT_TRUE(body.ends_with(kDone)) << body;
    std::vector<Json> events;
    std::string_view rest = std::string_view(body).substr(0, body.size() - kDone.size());
    while (!rest.empty()) {
      const size_t end = rest.find("\n\n");
      EXPECT_TRUE(rest.starts_with("data: ")) << rest;
      events.push_back(Json::parse(rest.substr(6, end - 6)));
      rest.remove_prefix(end + 2);
    }
    return events;
  }
};

// The bytes of a POST, for clients that write them in their own way. headers: whole lines.
inline std::string post_text(std::string_view path, std::string_view body,
                             std::string_view headers = "") {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{}Content-Length: "
      "{}\r\n\r\n{}",
      path, headers, body.size(), body);
}

// A connection that is kept.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(context_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  }

  Answer ask(const std::string& method, const std::string& path, const std::string& body = "",
             const std::string& key = "", const std::string& type = "application/json") {
    namespace http = boost::beast::http;
    http::request<http::string_body> request(http::string_to_verb(method), path, 11);
    request.set(http::field::host, "localhost");
    if (!body.empty() || method == "POST") request.set(http::field::content_type, type);
    if (!key.empty()) request.set(http::field::authorization, "Bearer " + key);
    request.body() = body;
    request.prepare_payload();
    http::write(socket_, request);
    return read();
  }
  Answer get(const std::string& path) { return ask("GET", path); }
  Answer post(const std::string& path, const Json& body) { return ask("POST", path, body.dump()); }

  // Asks and does not read.
  void begin(const std::string& path, const Json& body) { send(post_text(path, body.dump())); }
  void send(const std::string& bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }
  Answer read() {
    namespace http = boost::beast::http;
    http::response_parser<http::string_body> parser;
    parser.body_limit(size_t{64} << 20);
    http::read(socket_, buffer_, parser);
    const auto& message = parser.get();
    return {.status = static_cast<int>(message.result_int()),
            .body = message.body(),
            .content_type = std::string(message[http::field::content_type]),
            .retry_after = std::string(message[http::field::retry_after]),
            .allow = std::string(message[http::field::allow]),
            .request_id = std::string(message["x-request-id"])};
  }
  // What comes until the other side closes.
  std::string read_all() {
    std::string all(boost::beast::buffers_to_string(buffer_.data()));
    char part[4096];
    boost::system::error_code error;
    while (const size_t n = socket_.read_some(boost::asio::buffer(part), error))
      all.append(part, n);
    return all;
  }
  void close() { socket_.close(); }
  boost::asio::ip::tcp::socket& socket() { return socket_; }

 private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
};

// Until it holds, or ten seconds.
template <class Holds>
bool soon(Holds holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Far more than a test waits for.
inline Json endless_body() {
  return {{"prompt", "Goes on."}, {"n", 64}, {"max_tokens", 500}, {"ignore_eos", true}};
}

inline bool is_idle(RunningServer& server) {
  const uint64_t steps = server.engine().stats().steps;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return server.engine().stats().steps == steps;
}

}  // namespace pando::testing
