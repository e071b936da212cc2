// A connection of a router to a replica.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "serve/http.h"
#include "serve/route/replica_url.h"

namespace pando::serve {

struct ReplicaRequest {
  std::string_view method = "GET", target = "/";
  std::string_view content_type, accept;  // empty: not sent
  std::string_view body;
  HttpHeaders headers;  // more
};

// Status and headers of an answer.
struct ReplicaHead {
  int status = 0;
  std::string content_type;
  std::string fingerprint;  // of the process that answers; empty: not told
  HttpHeaders headers;      // that a client should see too, without its content type

  bool is_stream() const { return content_type.starts_with("text/event-stream"); }
  bool is_lines() const { return content_type.starts_with("application/x-ndjson"); }
};

// Asks one thing after the other. Used on its executor, which runs one thing at a time. Operations
// that fail give an error; after one, or once closed, it is of no more use.
class ReplicaConnection {
 public:
  using SystemError = boost::system::error_code;

  virtual ~ReplicaConnection() = default;
  // Connects, within the time.
  virtual boost::asio::awaitable<SystemError> open(std::chrono::milliseconds time) = 0;
  // Sends, and waits for the head of the answer as long as it takes. What the request refers to
  // must live until then.
  virtual boost::asio::awaitable<SystemError> ask(const ReplicaRequest& request,
                                                  ReplicaHead& head) = 0;
  // Reads some bytes of the answer's body; empty once it is over.
  virtual boost::asio::awaitable<SystemError> read(std::string& bytes) = 0;
  // From now on an operation fails that takes longer. By default none does.
  virtual void limit(std::chrono::milliseconds time) = 0;
  virtual void close() = 0;

  virtual bool has_bytes() const = 0;      // of the present answer, some have come
  virtual bool can_ask_again() const = 0;  // the answer was read, and the replica goes on
  virtual boost::asio::any_io_executor executor() = 0;
};

// The router's own machine lacks memory, files or ports: says nothing about a replica.
bool is_own_fault(const boost::system::error_code& error);

// `tls`: null for plain HTTP, else it must live longer.
std::unique_ptr<ReplicaConnection> make_replica_connection(
    boost::asio::any_io_executor executor, const ReplicaUrl& url,
    const boost::asio::ip::tcp::endpoint& endpoint, boost::asio::ssl::context* tls);

}  // namespace pando::serve
