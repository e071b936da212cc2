#include "serve/client.h"

#include <fmt/format.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <stdexcept>

namespace pando::testing {

namespace asio = boost::asio;
namespace http = boost::beast::http;

RunningServer::RunningServer(serve::ServerOptions options, std::unique_ptr<Engine> engine,
                             bool stop_on_signals)
    : engine_(std::move(engine)) {
  auto server = serve::Server::open(*engine_, options);
  if (!server) throw std::runtime_error(server.error().message());
  server_ = std::move(*server);
  thread_ = std::thread([this, stop_on_signals] { server_->run(stop_on_signals); });
}

std::vector<Json> Answer::events() const {
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

std::vector<Json> Answer::named_events() const {
  std::vector<Json> events;
  std::string_view rest = body;
  while (!rest.empty()) {
    const size_t data = rest.find("\ndata: "), end = rest.find("\n\n");
    events.push_back(Json::parse(rest.substr(data + 7, end - data - 7)));
    EXPECT_EQ(rest.substr(0, data), "event: " + events.back()["type"].get<std::string>());
    rest.remove_prefix(end + 2);
  }
  return events;
}

std::string post_text(std::string_view path, std::string_view body, std::string_view headers) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{}Content-Length: "
      "{}\r\n\r\n{}",
      path, headers, body.size(), body);
}

struct Client::Connection {
  asio::io_context context;
  asio::ip::tcp::socket socket{context};
  boost::beast::flat_buffer buffer;
};

Client::Client(uint16_t port) : connection_(std::make_unique<Connection>()) {
  connection_->socket.connect({asio::ip::address_v4::loopback(), port});
}
Client::~Client() = default;

Answer Client::ask(const std::string& method, const std::string& path, const std::string& body,
                   const std::string& key, const std::string& type) {
  http::request<http::string_body> request(http::string_to_verb(method), path, 11);
  request.set(http::field::host, "localhost");
  if (!body.empty() || method == "POST") request.set(http::field::content_type, type);
  if (!key.empty()) request.set(http::field::authorization, "Bearer " + key);
  request.body() = body;
  request.prepare_payload();
  http::write(connection_->socket, request);
  return read();
}

void Client::begin(const std::string& path, const Json& body) {
  send(post_text(path, body.dump()));
}

void Client::send(const std::string& bytes) {
  asio::write(connection_->socket, asio::buffer(bytes));
}

Answer Client::read() {
  http::response_parser<http::string_body> parser;
  parser.body_limit(size_t{64} << 20);
  http::read(connection_->socket, connection_->buffer, parser);
  const auto& message = parser.get();
  return {.status = static_cast<int>(message.result_int()),
          .body = message.body(),
          .content_type = std::string(message[http::field::content_type]),
          .retry_after = std::string(message[http::field::retry_after]),
          .allow = std::string(message[http::field::allow]),
          .request_id = std::string(message["x-request-id"]),
          .ignored_fields = std::string(message["x-pando-ignored-fields"])};
}

void Client::skip_until(std::string_view end) {
  std::string text;
  asio::read_until(connection_->socket, asio::dynamic_buffer(text), std::string(end));
}

size_t Client::skip(size_t n_bytes) {
  std::string part(n_bytes, '\0');
  boost::system::error_code error;
  return asio::read(connection_->socket, asio::buffer(part), error);
}

std::string Client::read_all(bool* is_end) {
  std::string all(boost::beast::buffers_to_string(connection_->buffer.data()));
  char part[4096];
  boost::system::error_code error;
  while (const size_t n = connection_->socket.read_some(asio::buffer(part), error))
    all.append(part, n);
  if (is_end != nullptr) *is_end = error == asio::error::eof;
  return all;
}

size_t Client::n_waiting() { return connection_->socket.available(); }

void Client::set_receive_buffer(int n_bytes) {
  connection_->socket.set_option(asio::socket_base::receive_buffer_size(n_bytes));
}

void Client::end_sending() { connection_->socket.shutdown(asio::ip::tcp::socket::shutdown_send); }

void Client::close() { connection_->socket.close(); }

Json endless_body(int n_answers) {
  return {{"prompt", "Goes on."}, {"n", n_answers}, {"max_tokens", 500}, {"ignore_eos", true}};
}

bool is_idle(RunningServer& server) {
  const uint64_t steps = server.engine().stats().steps;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const EngineStats stats = server.engine().stats();
  return stats.open_answers == 0 && stats.steps == steps;
}

}  // namespace pando::testing
