#include "lab/papers/serve_client.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <string_view>

#include "base/json.h"
#include "base/thread_priority.h"

namespace pando::lab {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Clock = std::chrono::steady_clock;
constexpr double kSurelyDrawn = 100;  // added to the letter's logit

// The events of a stream, as they come.
class EventReader {
 public:
  explicit EventReader(Streamed& streamed) : streamed_(streamed) {}

  // `body`: all that has come so far; `now`: when the last of it did.
  void read(std::string_view body, double now) {
    constexpr std::string_view kEnd = "\n\n", kData = "data: ";
    for (size_t end; (end = body.find(kEnd, n_read_)) != std::string_view::npos;) {
      std::string_view event = body.substr(n_read_, end - n_read_);
      n_read_ = end + kEnd.size();
      if (event.starts_with(kData)) event.remove_prefix(kData.size());
      hear(event, now);
    }
  }

 private:
  void hear(std::string_view event, double now) {
    if (event == "[DONE]") {
      streamed_.is_whole = streamed_.error.empty();
      return;
    }
    const Json json = Json::parse(event, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("choices")) {
      streamed_.error = event;
      return;
    }
    for (const Json& choice : json["choices"]) {
      const std::string text = choice.value("text", std::string());
      streamed_.tokens.insert(streamed_.tokens.end(),
                              static_cast<size_t>(std::ranges::count(text, kLetter)), now);
    }
  }

  Streamed& streamed_;
  size_t n_read_ = 0;
};

class OpenLoop {
 public:
  OpenLoop(uint16_t port, std::span<const Ask> requests)
      : server_(asio::ip::address_v4::loopback(), port),
        requests_(requests),
        streamed_(requests.size()),
        n_open_(requests.size()) {}

  std::vector<Streamed> run(double end) {
    ask_for_short_slices();  // as if it were on a machine of its own
    for (size_t i = 0; i < requests_.size(); ++i)
      asio::co_spawn(context_, ask(requests_[i], streamed_[i]), [this](const std::exception_ptr&) {
        if (--n_open_ == 0) context_.stop();
      });
    if (n_open_ > 0) context_.run_until(begin_ + seconds(end));
    return std::move(streamed_);
  }

 private:
  static Clock::duration seconds(double s) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
  }
  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  asio::awaitable<void> ask(const Ask& request, Streamed& streamed) {
    try {
      asio::steady_timer timer(context_, begin_ + seconds(request.at));
      co_await timer.async_wait(asio::use_awaitable);
      co_await stream(request, streamed);
    } catch (const std::exception& error) {
      streamed.error = error.what();
    }
  }

  asio::awaitable<void> stream(const Ask& request, Streamed& streamed) {
    beast::tcp_stream connection(context_);
    co_await connection.async_connect(server_, asio::use_awaitable);
    connection.socket().set_option(asio::ip::tcp::no_delay(true));
    http::request<http::string_body> message(http::verb::post, "/v1/completions", 11, request.body);
    message.set(http::field::host, "127.0.0.1");
    message.set(http::field::content_type, "application/json");
    message.prepare_payload();
    co_await http::async_write(connection, message, asio::use_awaitable);
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;  // an eager one would wait for the next chunk
    EventReader events(streamed);
    while (!parser.is_done()) {
      co_await http::async_read_some(connection, buffer, parser, asio::use_awaitable);
      if (parser.get().result() == http::status::ok) events.read(parser.get().body(), now());
    }
    if (parser.get().result() != http::status::ok) streamed.error = parser.get().body();
  }

  const asio::ip::tcp::endpoint server_;
  std::span<const Ask> requests_;
  std::vector<Streamed> streamed_;
  size_t n_open_;
  Clock::time_point begin_ = Clock::now();
  asio::io_context context_{1};  // goes first, and with it what is still open
};

}  // namespace

std::string completion_body(const std::vector<Token>& prompt, uint32_t n_answer,
                            const Deadlines& deadlines, Token letter) {
  return Json{{"prompt", prompt},
              {"max_tokens", n_answer},
              {"temperature", 0},
              {"ignore_eos", true},
              {"logit_bias", {{std::to_string(letter), kSurelyDrawn}}},
              {"ttft_slo_ms", 1e3 * deadlines.ttft_slo},
              {"tpot_slo_ms", 1e3 * deadlines.tpot_slo},
              {"stream", true}}
      .dump();
}

std::vector<Streamed> ask_open_loop(uint16_t port, std::span<const Ask> requests, double end) {
  return OpenLoop(port, requests).run(end);
}

}  // namespace pando::lab
