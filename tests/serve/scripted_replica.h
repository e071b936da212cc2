// A server that answers a router as a test wants: it dies, stalls, refuses or lies. Loopback only.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pando::testing {

// One request of the router, on a thread of its own. What fails throws; the connection is closed.
class ScriptedAnswer {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;

  ScriptedAnswer(boost::asio::ip::tcp::socket& socket, Request request, std::atomic<bool>& is_over)
      : request(std::move(request)), socket_(socket), is_over_(is_over) {}

  const Request request;
  nlohmann::json body() const { return nlohmann::json::parse(request.body()); }
  nlohmann::json routed() const {
    return nlohmann::json::parse(std::string(request["X-Pando-Routed"]));
  }

  void send(int status, const std::string& body, const std::string& headers = "",
            const std::string& type = "application/json") {
    write_text(fmt::format("HTTP/1.1 {} X\r\nContent-Type: {}\r\n{}Content-Length: {}\r\n\r\n{}",
                           status, type, headers, body.size(), body));
  }
  void begin_stream() {
    write_text(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
  }
  void write(const std::string& events) {
    write_text(fmt::format("{:x}\r\n{}\r\n", events.size(), events));
  }
  void end_stream() { write_text("0\r\n\r\n"); }
  // Bytes as they are.
  void write_text(const std::string& bytes) {
    boost::asio::write(socket_, boost::asio::buffer(bytes));
  }
  // Breaks the connection.
  [[noreturn]] void die() { throw std::runtime_error("scripted"); }
  // Says nothing more, until the replica goes.
  [[noreturn]] void stall() {
    while (!is_over_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    die();
  }

 private:
  boost::asio::ip::tcp::socket& socket_;
  std::atomic<bool>& is_over_;
};

class ScriptedReplica {
 public:
  using Script = std::function<void(ScriptedAnswer&)>;

  explicit ScriptedReplica(Script script) : script_(std::move(script)), acceptor_(context_) {
    const boost::asio::ip::tcp::endpoint any(boost::asio::ip::address_v4::loopback(), 0);
    acceptor_.open(any.protocol());
    acceptor_.bind(any);
    acceptor_.listen();
    port_ = acceptor_.local_endpoint().port();
    accepting_ = std::thread([this] { accept(); });
  }
  ~ScriptedReplica() { stop(); }
  ScriptedReplica(const ScriptedReplica&) = delete;
  ScriptedReplica& operator=(const ScriptedReplica&) = delete;

  // As killed: nobody listens, and all connections break.
  void stop() {
    if (is_over_.exchange(true)) return;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket(context_).connect({boost::asio::ip::address_v4::loopback(), port_},
                                                   ignored);  // wakes accept()
    accepting_.join();
    acceptor_.close(ignored);
    {
      const std::lock_guard lock(mutex_);
      for (boost::asio::ip::tcp::socket& socket : sockets_)
        socket.shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
    }
    for (std::thread& thread : threads_) thread.join();
  }

  // Takes no more connections, as a server that stops; requests under way go on.
  void refuse() {
    if (is_refusing_.exchange(true)) return;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket(context_).connect({boost::asio::ip::address_v4::loopback(), port_},
                                                   ignored);  // wakes accept()
  }

  uint16_t port() const { return port_; }
  std::string name() const { return fmt::format("http://127.0.0.1:{}", port_); }
  int n_asked() const { return n_asked_; }  // without its status

  std::atomic<bool> is_silent{false};  // about its status
  // Sets a member of its report about itself.
  void set_status(const char* member, nlohmann::json value) {
    const std::lock_guard lock(mutex_);
    status_[member] = std::move(value);
  }

 private:
  void accept() {
    for (;;) {
      boost::asio::ip::tcp::socket socket(context_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (is_over_) return;
      if (is_refusing_) {
        acceptor_.close(error);
        return;
      }
      if (error) continue;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(std::move(socket));
      threads_.emplace_back([this, &socket = sockets_.back()] { serve(socket); });
    }
  }

  void serve(boost::asio::ip::tcp::socket& socket) {
    boost::beast::flat_buffer buffer;
    try {
      while (!is_over_) {
        ScriptedAnswer::Request request;
        boost::beast::http::read(socket, buffer, request);
        ScriptedAnswer answer(socket, std::move(request), is_over_);
        if (answer.request.target() == "/v1/replica") {
          if (is_silent) answer.stall();
          if (is_refusing_) answer.die();
          answer.send(200, status_text());
        } else {
          ++n_asked_;
          script_(answer);
        }
      }
    } catch (const std::exception&) {  // the other side has gone, or the script ends it
    }
    boost::system::error_code ignored;
    socket.shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
  }

  std::string status_text() {
    const std::lock_guard lock(mutex_);
    return status_.dump();
  }

  const Script script_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  uint16_t port_ = 0;
  std::atomic<bool> is_over_{false}, is_refusing_{false};
  std::atomic<int> n_asked_{0};
  std::mutex mutex_;
  nlohmann::json status_ = {{"process", "1"}, {"fingerprint", "f"}, {"models", {"tiny"}},
                            {"context", 64},  {"longest", 64},      {"draining", false}};
  std::list<boost::asio::ip::tcp::socket> sockets_;
  std::list<std::thread> threads_;
  std::thread accepting_;
};

}  // namespace pando::testing
