#include "serve/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "ask/body.h"
#include "base/errors.h"
#include "serve/check_host.h"
#include "serve/cors.h"
#include "serve/file_routes.h"
#include "serve/handler.h"
#include "serve/reply.h"
#include "serve/request_watch.h"

namespace pando::serve {
namespace {

using Clock = std::chrono::steady_clock;
using ask::HttpError;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::seconds kLinger{2};
constexpr size_t kBegunBytes = size_t{8} << 20;  // that a router may add to a body
constexpr size_t kFormPiece = size_t{1} << 20;   // that is written to the disk at a time

// "-" where the other side is gone already.
std::string address_of(const asio::ip::tcp::socket& socket) {
  beast::error_code error;
  const asio::ip::tcp::endpoint end = socket.remote_endpoint(error);
  if (error) return "-";
  const std::string host = end.address().to_string();
  return fmt::format("{}:{}", end.address().is_v6() ? "[" + host + "]" : host, end.port());
}

HttpResponse body_too_large(size_t limit) {
  return wrong_request(413, "body_too_large",
                       fmt::format("the body is longer than {} bytes", limit));
}

// Answers a request that cannot be read; with nothing where nobody waits for it.
std::optional<HttpResponse> reading_error(const beast::error_code& error,
                                          const ServerOptions& options) {
  if (error == http::error::end_of_stream || error == http::error::partial_message)
    return std::nullopt;
  if (error == http::error::header_limit)
    return wrong_request(
        431, "headers_too_large",
        fmt::format("the headers are longer than {} bytes", options.max_header_bytes));
  if (error == http::error::body_limit) return body_too_large(options.max_body_bytes);
  if (error.category() == make_error_code(http::error::bad_method).category())
    return wrong_request(400, "bad_request", "the request is not valid HTTP: " + error.message());
  return std::nullopt;  // gone, or too slow
}

HttpResponse no_room() {
  return error_response(ask::http_error(make_error(
      ErrorCode::kUnavailable, "too many request bodies are being read (hint: try again later)")));
}

// Counts a request as under way.
class UnderWay {
 public:
  UnderWay(prometheus::Gauge& gauge, double counts) : gauge_(gauge), counts_(counts) {
    gauge_.Increment(counts_);
  }
  ~UnderWay() { gauge_.Decrement(counts_); }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  prometheus::Gauge& gauge_;
  const double counts_;
};

template <class Stream>
class Session {
 public:
  Session(Door& door, Stream stream, OpenConnection& connection)
      : door_(door),
        stream_(std::move(stream)),
        connection_(connection),
        client_(address_of(beast::get_lowest_layer(stream_).socket())) {
    connection_.on_drain = [this] {
      if (is_idle_) beast::get_lowest_layer(stream_).close();
    };
    connection_.on_cut = [this] {
      if (watch_) watch_->end_time();
    };
  }
  ~Session() { connection_.on_drain = connection_.on_cut = nullptr; }

  Stream& stream() { return stream_; }

  asio::awaitable<void> run() {
    bool goes_on = true;
    while (goes_on && !door_.draining) goes_on = co_await answer_next();
    expire_after(kLinger);
    if constexpr (!std::is_same_v<Stream, beast::tcp_stream>)
      co_await stream_.async_shutdown(kToken);
    co_await close();
  }

  // Not where the client only looked whether somebody listens, or time or the server ended it.
  void log_no_tls(const beast::error_code& error) {
    const bool is_of_tls = error.category() == asio::error::get_ssl_category();
    if (is_of_tls && door_.options.log_requests != LogRequests::kNone)
      door_.log(fmt::format("{} TLS handshake failed: {}", client_, error.message()));
  }

  // Lets the client read what it was sent, though it may still be sending.
  asio::awaitable<void> close() {
    expire_after(kLinger);
    beast::error_code ignored;
    auto& socket = beast::get_lowest_layer(stream_).socket();
    socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    char rest[4096];
    for (size_t n_read = 0; n_read < door_.options.max_body_bytes;) {
      const auto [error, n] =
          co_await beast::get_lowest_layer(stream_).async_read_some(asio::buffer(rest), kToken);
      if (error) break;
      n_read += n;
    }
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  void expire_after(std::chrono::seconds timeout) {
    beast::get_lowest_layer(stream_).expires_after(timeout);
  }

  // False where the connection is to be closed.
  asio::awaitable<bool> answer_next() {
    const ServerOptions& options = door_.options;
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(options.max_header_bytes));
    parser.body_limit(std::max(options.max_body_bytes + kBegunBytes, form_limit()));
    if (buffer_.size() == 0 && !co_await first_bytes()) co_return false;
    expire_after(options.body_timeout);
    const auto [error, n_read] = co_await http::async_read_header(stream_, buffer_, parser, kToken);
    begun_ = Clock::now();
    HttpRequest request;
    request.id = door_.new_id();
    const std::string own_id = request.id;
    begin_log(own_id);
    cors_.clear();
    std::optional<HttpResponse> wrong;
    if (error) {
      wrong = reading_error(error, options);
      co_return co_await refuse(parser, std::move(wrong));
    }

    const auto target = parser.get().target();
    const std::string_view path = path_of({target.data(), target.size()});
    const auto method = parser.get().method_string();
    const Route* route = find_route(path, {method.data(), method.size()});
    const bool takes_form = route != nullptr && route->takes_form;
    request.routed_header = std::string(parser.get()[kRoutedHeader]);
    const size_t begun_bytes = request.routed_header.empty() ? 0 : kBegunBytes;
    const size_t body_limit = takes_form ? form_limit() : options.max_body_bytes + begun_bytes;
    if (parser.content_length().value_or(0) > body_limit) {
      wrong = body_too_large(body_limit);
      co_return co_await refuse(parser, std::move(wrong));
    }
    parser.body_limit(body_limit);
    request.method = std::string(parser.get().method_string());
    request.path = std::string(path_of({target.data(), target.size()}));
    request.query = std::string(query_of({target.data(), target.size()}));
    logged_.method = request.method;
    logged_.path = request.path;
    if (const auto id = parser.get()["X-Request-Id"]; is_log_word({id.data(), id.size()}))
      logged_.id = std::string(id);
    request.host = std::string(parser.get()[http::field::host]);
    request.accept = std::string(parser.get()[http::field::accept]);
    request.if_none_match = std::string(parser.get()[http::field::if_none_match]);
    request.content_type = std::string(parser.get()[http::field::content_type]);
    const auto [first, last] = parser.get().equal_range(http::field::content_encoding);
    for (auto coding = first; coding != last; ++coding)
      request.content_encoding += (coding == first ? "" : ", ") + std::string(coding->value());
    const auto header = [&](std::string_view name) {
      const auto value = parser.get()[name];
      return std::string_view(value.data(), value.size());
    };
    wrong = check_host(door_, parser.get());
    if (!wrong) wrong = check_origin(parser.get());
    if (!wrong)
      wrong = check_head(door_, request,
                         {.authorization = header("Authorization"),
                          .x_api_key = header("X-Api-Key"),
                          .api_key = header("Api-Key")});
    if (request.routed && logged_.id == own_id) logged_.id = request.id;
    request.log_id = logged_.id;
    logged_.key_name = door_.keys.name_of(request.isolation_key);
    if (!wrong && takes_form) wrong = door_.begin_upload(request, header("Origin"));
    if (wrong) co_return co_await refuse(parser, std::move(wrong));

    expire_after(options.body_timeout);
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      http::response<http::empty_body> go_on(http::status::continue_, parser.get().version());
      const auto [write_error, n_written] = co_await http::async_write(stream_, go_on, kToken);
      if (write_error) co_return false;
    }
    request.memory = std::make_unique<BodyMemory::Share>(door_.body_memory);
    if (takes_form) co_return co_await answer_form(parser, request);
    parser.eager(true);
    while (!parser.is_done() && !wrong) {
      const auto [body_error, n_read] =
          co_await http::async_read_some(stream_, buffer_, parser, kToken);
      if (body_error) co_return co_await refuse(parser, reading_error(body_error, options));
      if (!request.memory->grow_to(parser.get().body().size())) wrong = no_room();
    }
    if (wrong) co_return co_await refuse(parser, std::move(wrong));
    request.body = std::move(parser.get().body());
    co_return co_await answer(request, parser.get().version(), parser.get().keep_alive());
  }

  // Bytes of a form with a file.
  size_t form_limit() const {
    constexpr size_t kBeside = size_t{64} << 10;  // other fields and boundaries
    return door_.options.files.file_bytes + kBeside;
  }

  // Gives the body to request.upload as it comes. A string would have room for all of it.
  asio::awaitable<bool> answer_form(Parser& head, HttpRequest& request) {
    http::request_parser<http::buffer_body> form(std::move(head));
    std::string piece(kFormPiece, '\0');
    std::optional<HttpResponse> wrong;
    if (!request.memory->grow_to(piece.size())) wrong = no_room();
    while (!form.is_done() && !wrong) {
      expire_after(door_.options.body_timeout);
      auto& body = form.get().body();
      body.data = piece.data();
      body.size = piece.size();
      const auto [error, n_read] = co_await http::async_read(stream_, buffer_, form, kToken);
      if (error == http::error::body_limit) wrong = body_too_large(form_limit());
      if (error && error != http::error::need_buffer) {
        if (!wrong) wrong = reading_error(error, door_.options);
        co_return co_await refuse(form, std::move(wrong));
      }
      const Status status =
          co_await take(*request.upload, {piece.data(), piece.size() - body.size});
      if (!status) wrong = upload_error(status.error());
    }
    if (wrong) co_return co_await refuse(form, std::move(wrong));
    co_return co_await answer(request, form.get().version(), form.get().keep_alive());
  }

  asio::awaitable<Status> take(BodySink& upload, std::string_view bytes) {
    return door_.on_disk([&upload, bytes] { return upload.add(bytes); });
  }

  // Waits for the next request to begin. False: none does.
  asio::awaitable<bool> first_bytes() {
    constexpr size_t kSome = 4096;
    expire_after(door_.options.idle_timeout);
    is_idle_ = true;
    const auto [error, n_read] = co_await stream_.async_read_some(buffer_.prepare(kSome), kToken);
    is_idle_ = false;
    buffer_.commit(n_read);
    co_return !error;
  }

  // Answers what a browser asks for a web page's sake.
  std::optional<HttpResponse> check_origin(const http::request<http::string_body>& head) {
    const auto field = [&](auto name) {
      const auto value = head[name];
      return std::string_view(value.data(), value.size());
    };
    const std::vector<std::string>& allowed = door_.options.cors_origins;
    const std::string_view origin = field(http::field::origin);
    cors_ = cors_headers(allowed, origin);
    if (allowed.empty() || origin.empty() || head.method() != http::verb::options)
      return std::nullopt;
    return answer_preflight(
        allowed, {.origin = origin, .headers = field(http::field::access_control_request_headers)});
  }

  ReplyOptions reply_options(unsigned version, bool keep_alive) const {
    return {.id = logged_.id,
            .http_version = version,
            .keep_alive = keep_alive,
            .is_to_head = is_head(logged_.method),
            .headers = cors_,
            .errors = &errors_of(logged_.path, logged_.method)};
  }

  asio::awaitable<bool> answer(HttpRequest& request, unsigned version, bool keep_alive) {
    begun_ = request.arrival = Clock::now();
    Reply<Stream> reply(door_, stream_, reply_options(version, keep_alive));
    beast::get_lowest_layer(stream_).expires_never();
    const double counts = request.path == "/metrics" ? 0 : 1;  // who looks is not looked at
    const UnderWay under_way(door_.http_metrics().under_way(), counts);
    co_await handled(request, reply);
    asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    state.clear();  // the rest is not cancelled
    const bool is_time_over = given_up_ == RequestWatch::End::kTimeOver;
    if (is_time_over) {
      const HttpError error = why_cut();
      co_await fail(reply, error);
    }
    const bool left =
        given_up_ == RequestWatch::End::kClientGone || (!given_up_ && reply.is_lost());
    if (left || is_time_over) door_.http_metrics().count_cancelled();
    log(reply, left ? 499 : reply.has_begun() ? reply.status() : 500);
    door_.http_metrics().count_request(find_route(request.path, request.method)->path,
                                       logged_.status, logged_.seconds);
    co_return !given_up_ && reply.keep_alive();
  }

  // Cancelled where nobody waits for the answer any more. Throws nothing.
  asio::awaitable<void> handled(HttpRequest& request, Reply<Stream>& reply) {
    given_up_.reset();
    std::optional<HttpError> error;
    try {
      watch_.emplace(beast::get_lowest_layer(stream_).socket(), reply.is_ending(),
                     door_.is_cutting ? std::chrono::seconds(0) : door_.options.request_timeout,
                     [this, &request](RequestWatch::End end) {
                       given_up_ = end;
                       request.is_given_up = true;
                       connection_.cancellation.emit(asio::cancellation_type::terminal);
                     });
      co_await door_.handle(request, reply);
    } catch (const boost::system::system_error&) {
      reply.lose();
    } catch (const std::bad_alloc&) {
      error = ask::http_error(no_memory());
    } catch (const std::exception& bug) {
      error = HttpError{500, "server_error", "internal", bug.what()};
    }
    if (error) {
      try {
        co_await fail(reply, *error);
      } catch (const std::exception&) {  // no memory for that either
        reply.close_after();
      }
    }
    watch_.reset();
  }

  HttpError why_cut() const {
    if (!door_.is_cutting) return timed_out(door_.options.request_timeout);
    return shutting_down(", and the answer was not ready in time");
  }

  // Ends an answer with an error, as far as that can still be said.
  asio::awaitable<void> fail(Reply<Stream>& reply, const HttpError& error) {
    reply.close_after();
    reply.tally.error = error.code;  // even if the client can no longer be told
    reply.tally.error_param = error.param;
    if (!reply.has_begun()) {
      HttpResponse response = error_response(error);
      co_await sent(reply, std::move(response));
    } else if (reply.is_stream() && reply.is_between_writes()) {
      try {
        co_await reply.fail_stream(error);
      } catch (const boost::system::system_error&) {
        reply.lose();
      }
    }
  }

  void begin_log(const std::string& id) {
    logged_ = LoggedRequest();
    logged_.client = client_;
    logged_.id = id;
  }

  void log(const Reply<Stream>& reply, int status) {
    logged_.status = status;
    logged_.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    logged_.tally = reply.tally;
    door_.log(logged_);
  }

  asio::awaitable<void> sent(Reply<Stream>& reply, HttpResponse response) {
    try {
      co_await reply.send(std::move(response));
    } catch (const boost::system::system_error&) {
      reply.lose();
    }
  }

  // Answers with the error, if there is one to tell, and ends the connection: what else the client
  // sends may be the rest of this request.
  template <class AnyParser>
  asio::awaitable<bool> refuse(AnyParser& parser, std::optional<HttpResponse> response) {
    if (!response) co_return false;
    const unsigned version = parser.is_header_done() ? parser.get().version() : 11;
    const bool whole =
        parser.is_header_done() && !parser.content_length_remaining() && !parser.chunked();
    Reply<Stream> reply(door_, stream_, reply_options(version, whole && parser.get().keep_alive()));
    door_.http_metrics().count_request("refused", response->status, 0);
    co_await sent(reply, std::move(*response));
    log(reply, reply.status());
    co_return reply.keep_alive();
  }

  Door& door_;
  Stream stream_;
  OpenConnection& connection_;
  const std::string client_;
  std::optional<RequestWatch> watch_;          // over the request that is being answered
  std::optional<RequestWatch::End> given_up_;  // the same: why, where nobody waits for it
  Clock::time_point begun_;                    // the same
  LoggedRequest logged_;                       // the same
  HttpHeaders cors_;                           // the same
  beast::flat_buffer buffer_;
  bool is_idle_ = true;  // no request has come whole
};

}  // namespace

asio::awaitable<void> serve_connection(Door& door, asio::ip::tcp::socket socket,
                                       ConnectionRegistry::Registration registration,
                                       asio::ssl::context* tls) {
  beast::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  if (tls == nullptr) {
    Session<beast::tcp_stream> session(door, beast::tcp_stream(std::move(socket)),
                                       *registration.connection());
    co_await session.run();
  } else {
    using TlsStream = beast::ssl_stream<beast::tcp_stream>;
    Session<TlsStream> session(door, TlsStream(beast::tcp_stream(std::move(socket)), *tls),
                               *registration.connection());
    beast::get_lowest_layer(session.stream()).expires_after(door.options.body_timeout);
    const auto [error] =
        co_await session.stream().async_handshake(asio::ssl::stream_base::server, kToken);
    if (error) {
      session.log_no_tls(error);
      co_await session.close();
    } else {
      co_await session.run();
    }
  }
}

}  // namespace pando::serve
