// The answer to one request, on its way to the client.
#pragma once

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "ask/errors.h"
#include "base/json.h"
#include "serve/door.h"
#include "serve/http.h"
#include "serve/new_file.h"

namespace pando::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

// An answer depends on these parts of its request.
struct ReplyOptions {
  std::string id;         // the answer repeats it
  unsigned http_version;  // of the request, 10 or 11
  bool keep_alive;        // the connection may take another request
  bool is_to_head;        // to a HEAD, which is answered without a body
  HttpHeaders headers;    // that go with whatever is sent
  const ask::ErrorForm* errors = &ask::kOpenAiErrors;
};

// Over a TCP stream or one of TLS. What cannot be sent is thrown as boost::system::system_error.
template <class Stream>
class Reply : public Replier {
 public:
  Reply(Door& door, Stream& stream, ReplyOptions options)
      : door_(door),
        stream_(stream),
        options_(std::move(options)),
        keep_alive_(options_.keep_alive) {}

  asio::awaitable<void> send(HttpResponse response) override {
    if (response.error) {
      tell(*response.error);
      response.body = json_text(options_.errors->body(*response.error));
    }
    http::response<http::string_body> message(static_cast<http::status>(response.status),
                                              options_.http_version);
    set_fields(message, response.content_type);
    for (const auto& [name, value] : response.headers) message.set(name, value);
    message.body() = std::move(response.body);
    message.prepare_payload();
    if (response.contents) message.content_length(response.contents->n_bytes);
    status_ = response.status;  // not before: what has no memory for its head has not begun
    start_writing();
    is_ending_ = true;
    if (message.body().size() <= kPiece && !options_.is_to_head && !response.contents) {
      co_await http::async_write(stream_, message, asio::use_awaitable);
    } else {
      http::response_serializer<http::string_body> serializer(message);
      co_await http::async_write_header(stream_, serializer, asio::use_awaitable);
      for (std::string_view rest = options_.is_to_head ? std::string_view() : message.body();
           !rest.empty();)
        co_await write_all(asio::buffer(next_piece(rest)));
      if (response.contents && !options_.is_to_head) co_await write_contents(*response.contents);
    }
    is_writing_ = false;
  }

  asio::awaitable<void> begin_stream(const char* content_type) override {
    if (!is_chunked()) keep_alive_ = false;  // the end of the connection ends it
    http::response<http::empty_body> message(http::status::ok, options_.http_version);
    set_fields(message, content_type);
    if (!std::string_view(content_type).starts_with("text/event-stream")) end_of_event_ = "\n";
    message.set(http::field::cache_control, "no-cache");
    message.set("X-Accel-Buffering", "no");
    message.chunked(is_chunked());
    http::response_serializer<http::empty_body> serializer(message);
    status_ = 200;
    is_stream_ = true;
    start_writing();
    co_await http::async_write_header(stream_, serializer, asio::use_awaitable);
    is_writing_ = false;
  }

  asio::awaitable<void> write(std::string events) override {
    co_await write_events(std::move(events), /*are_last=*/false);
  }

  asio::awaitable<void> end_stream(std::string events) override {
    co_await write_events(std::move(events), /*are_last=*/true);
    if (is_chunked()) co_await write_all(http::make_chunk_last());
    is_stream_ = is_writing_ = false;
  }

  asio::awaitable<void> fail_stream(ask::HttpError error) override {
    tell(error);
    error.n_events = n_events_;
    co_await end_stream(options_.errors->last_events(error));
  }

  bool has_begun() const override { return status_ != 0; }
  // Its last bytes are on their way: whoever has them may leave.
  const bool& is_ending() const { return is_ending_; }
  // Something can still be said: the client has not half of what was said before.
  bool is_between_writes() const { return !is_writing_ && !is_ending_; }
  bool is_stream() const { return is_stream_; }
  int status() const { return status_; }
  bool keep_alive() const { return keep_alive_ && !is_stream_; }
  void close_after() { keep_alive_ = false; }
  // The client is gone, or the request was cancelled.
  void lose() {
    keep_alive_ = false;
    is_lost_ = true;
  }
  bool is_lost() const { return is_lost_; }

 private:
  static constexpr size_t kPiece = size_t{64} << 10;  // of an answer
  static constexpr size_t kContentsPiece = size_t{256} << 10;

  bool is_chunked() const { return options_.http_version >= 11; }

  template <class Message>
  void set_fields(Message& message, const std::string& content_type) {
    if (door_.draining) keep_alive_ = false;
    message.set(http::field::server, "pando");
    message.set(http::field::date, http_date());
    if (!content_type.empty()) message.set(http::field::content_type, content_type);
    message.set("X-Request-Id", options_.id);
    for (const auto& [name, value] : options_.headers) message.set(name, value);
    for (const auto& [name, value] : headers) message.set(name, value);
    message.keep_alive(keep_alive_);
  }

  // To the log.
  void tell(const ask::HttpError& error) {
    tally.error = error.code;
    tally.error_param = error.param;
  }

  // Writes pieces of whole events, so that an error can follow each piece.
  asio::awaitable<void> write_events(std::string events, bool are_last) {
    for (std::string_view rest = events; !rest.empty();) {
      size_t n_bytes = 0;
      do {
        n_events_ += rest[n_bytes] == ':' ? 0 : 1;  // comments are no events
        const size_t end = rest.find(end_of_event_, n_bytes);
        n_bytes = end == rest.npos ? rest.size() : end + end_of_event_.size();
      } while (n_bytes < std::min(kPiece, rest.size()));
      const auto piece = asio::buffer(rest.substr(0, n_bytes));
      rest.remove_prefix(n_bytes);
      is_ending_ = rest.empty() && are_last;  // at which clients leave
      if (is_chunked()) {
        co_await write_all(http::make_chunk(piece));
      } else {
        co_await write_all(piece);
      }
      is_writing_ = false;
    }
  }

  void start_writing() {
    beast::get_lowest_layer(stream_).expires_after(door_.options.write_timeout);
    is_writing_ = true;
  }

  // Cancelling the request does not stop the write: no error could follow half a chunk.
  template <class Buffers>
  asio::awaitable<void> write_all(Buffers buffers) {
    start_writing();
    co_await asio::async_write(
        stream_, buffers,
        asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
  }

  asio::awaitable<void> write_contents(const FileContents& contents) {
    for (uint64_t at = 0; at < contents.n_bytes;) {
      const uint64_t n_bytes = std::min<uint64_t>(kContentsPiece, contents.n_bytes - at);
      std::string piece;
      const Status status = co_await read_piece(contents, at, n_bytes, piece);
      if (!status) throw std::runtime_error(status.error().message());
      co_await write_all(asio::buffer(piece));
      at += n_bytes;
    }
  }
  asio::awaitable<Status> read_piece(const FileContents& contents, uint64_t at, uint64_t n_bytes,
                                     std::string& piece) {
    return door_.on_disk([&contents, at, n_bytes, &piece]() -> Status {
      Result<std::string> read = read_at(contents.file, at, n_bytes);
      if (!read) return read.error();
      piece = std::move(*read);
      return {};
    });
  }

  // Each has its own time, so that a slow client gets a long answer too.
  static std::string_view next_piece(std::string_view& rest) {
    const std::string_view piece = rest.substr(0, kPiece);
    rest.remove_prefix(piece.size());
    return piece;
  }

  Door& door_;
  Stream& stream_;
  const ReplyOptions options_;
  bool keep_alive_;
  bool is_stream_ = false, is_lost_ = false, is_ending_ = false, is_writing_ = false;
  int status_ = 0;       // 0: nothing was sent
  size_t n_events_ = 0;  // of a stream
  std::string_view end_of_event_ = "\n\n";
};

}  // namespace pando::serve
