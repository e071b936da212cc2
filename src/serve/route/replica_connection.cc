#include "serve/route/replica_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <optional>
#include <utility>

#include "serve/routed.h"

namespace pando::serve {
namespace {

namespace beast = boost::beast;

constexpr auto kAsTuple = boost::asio::as_tuple(boost::asio::use_awaitable);
constexpr std::chrono::seconds kSendTime{30};  // for each piece of a request
constexpr uint32_t kMostHeaderBytes = uint32_t{64} << 10;
constexpr size_t kReadBytes = size_t{16} << 10;
// Headers that a router writes itself, or that are about one connection.
constexpr std::string_view kOwnHeaders[] = {
    "Connection",    "Content-Length",    "Content-Type",     "Date",         "Keep-Alive",
    "Server",        "Trailer",           "Upgrade",          "X-Request-Id", "Transfer-Encoding",
    "Cache-Control", "X-Accel-Buffering", "WWW-Authenticate", kReplicaHeader};

bool is_own(std::string_view name) {
  return std::ranges::any_of(kOwnHeaders,
                             [&](std::string_view own) { return beast::iequals(own, name); });
}

// Turns on the system's keep-alive probes. A machine that was restarted refuses them, which ends a
// connection that would wait for ever.
void notice_restarts(int socket) {
  struct Setting {
    int level, name, value;
  };
  constexpr Setting kSettings[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                                   {IPPROTO_TCP, TCP_KEEPIDLE, 5},
                                   {IPPROTO_TCP, TCP_KEEPINTVL, 5},
                                   {IPPROTO_TCP, TCP_KEEPCNT, 6}};
  for (const Setting& one : kSettings)
    setsockopt(socket, one.level, one.name, &one.value, sizeof one.value);
}

template <class Stream>
class ConnectionOver : public ReplicaConnection {
 public:
  ConnectionOver(Stream stream, const ReplicaUrl& url,
                 const boost::asio::ip::tcp::endpoint& endpoint)
      : stream_(std::move(stream)), url_(url), endpoint_(endpoint) {}

  boost::asio::awaitable<SystemError> open(std::chrono::milliseconds time) override {
    beast::tcp_stream& tcp = beast::get_lowest_layer(stream_);
    tcp.expires_after(time);
    const auto [error] = co_await tcp.async_connect(endpoint_, kAsTuple);
    if (error) co_return error;
    SystemError ignored;
    tcp.socket().set_option(boost::asio::ip::tcp::no_delay(true), ignored);
    notice_restarts(tcp.socket().native_handle());
    if constexpr (!std::is_same_v<Stream, beast::tcp_stream>) {
      if (SSL_set_tlsext_host_name(stream_.native_handle(), url_.host.c_str()) != 1)
        co_return SystemError(static_cast<int>(::ERR_get_error()),
                              boost::asio::error::get_ssl_category());
      stream_.set_verify_callback(boost::asio::ssl::host_name_verification(url_.host), ignored);
      const auto [failed] =
          co_await stream_.async_handshake(boost::asio::ssl::stream_base::client, kAsTuple);
      if (failed) co_return failed;
    }
    tcp.expires_never();
    co_return SystemError();
  }

  boost::asio::awaitable<SystemError> ask(const ReplicaRequest& asked, ReplicaHead& head) override {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(boost::none);
    parser_->skip(is_head(asked.method));
    has_bytes_ = false;
    beast::http::request<beast::http::span_body<const char>> message(
        beast::http::string_to_verb(std::string(asked.method)), std::string(asked.target), 11);
    message.set(beast::http::field::host, url_.authority());
    if (!asked.accept.empty()) message.set(beast::http::field::accept, asked.accept);
    if (!asked.content_type.empty())
      message.set(beast::http::field::content_type, asked.content_type);
    for (const auto& [name, value] : asked.headers) message.set(name, value);
    message.body() = beast::span<const char>(asked.body.data(), asked.body.size());
    message.prepare_payload();
    beast::tcp_stream& tcp = beast::get_lowest_layer(stream_);
    if (!has_limit_) tcp.expires_after(kSendTime);
    beast::http::request_serializer<beast::http::span_body<const char>> serializer(message);
    while (!serializer.is_done()) {
      const auto [error, n_written] =
          co_await beast::http::async_write_some(stream_, serializer, kAsTuple);
      if (error) co_return error;
      if (!has_limit_) tcp.expires_after(kSendTime);
    }
    if (!has_limit_) tcp.expires_never();
    const auto [error, n_read] =
        co_await beast::http::async_read_header(stream_, buffer_, *parser_, kAsTuple);
    has_bytes_ = n_read > 0;
    if (error) co_return error;
    take_head(head);
    co_return SystemError();
  }

  boost::asio::awaitable<SystemError> read(std::string& bytes) override {
    bytes.clear();
    while (!parser_->is_done()) {
      auto& body = parser_->get().body();
      body.data = piece_.data();
      body.size = piece_.size();
      const auto [error, n_read] =
          co_await beast::http::async_read_some(stream_, buffer_, *parser_, kAsTuple);
      bytes.assign(piece_.data(), piece_.size() - body.size);
      if (error && error != beast::http::error::need_buffer) co_return error;
      if (!bytes.empty()) break;
    }
    co_return SystemError();
  }

  void limit(std::chrono::milliseconds time) override {
    has_limit_ = true;
    beast::get_lowest_layer(stream_).expires_after(time);
  }
  void close() override {
    is_closed_ = true;
    beast::get_lowest_layer(stream_).close();
  }
  bool has_bytes() const override { return has_bytes_; }
  bool can_ask_again() const override {
    return !is_closed_ && parser_ && parser_->is_done() && parser_->keep_alive();
  }
  boost::asio::any_io_executor executor() override { return stream_.get_executor(); }

 private:
  void take_head(ReplicaHead& head) const {
    const auto& message = parser_->get();
    head = {.status = static_cast<int>(message.result_int()),
            .content_type = std::string(message[beast::http::field::content_type])};
    const std::string replica(message[kReplicaHeader]);
    head.fingerprint = replica.substr(replica.find(' ') + 1);
    for (const auto& field : message) {
      const auto name = field.name_string();
      if (!is_own({name.data(), name.size()}))
        head.headers.emplace_back(std::string(name), std::string(field.value()));
    }
  }

  Stream stream_;
  const ReplicaUrl url_;
  const boost::asio::ip::tcp::endpoint endpoint_;
  beast::flat_buffer buffer_;
  std::optional<beast::http::response_parser<beast::http::buffer_body>> parser_;
  std::array<char, kReadBytes> piece_;
  bool has_bytes_ = false, has_limit_ = false, is_closed_ = false;
};

}  // namespace

bool is_own_fault(const boost::system::error_code& error) {
  using boost::system::errc::errc_t;
  constexpr errc_t kOwn[] = {
      boost::system::errc::too_many_files_open, boost::system::errc::too_many_files_open_in_system,
      boost::system::errc::not_enough_memory, boost::system::errc::no_buffer_space,
      boost::system::errc::address_not_available};
  return std::ranges::any_of(kOwn, [&](errc_t own) { return error == own; });
}

std::unique_ptr<ReplicaConnection> make_replica_connection(
    boost::asio::any_io_executor executor, const ReplicaUrl& url,
    const boost::asio::ip::tcp::endpoint& endpoint, boost::asio::ssl::context* tls) {
  if (tls == nullptr)
    return std::make_unique<ConnectionOver<beast::tcp_stream>>(
        beast::tcp_stream(std::move(executor)), url, endpoint);
  using TlsStream = beast::ssl_stream<beast::tcp_stream>;
  return std::make_unique<ConnectionOver<TlsStream>>(
      TlsStream(beast::tcp_stream(std::move(executor)), *tls), url, endpoint);
}

}  // namespace pando::serve
