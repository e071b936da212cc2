// Requests and answers of HTTP as the handlers see them, whatever carries them.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/errors.h"
#include "base/json_fwd.h"
#include "pando/values/result.h"
#include "serve/body_memory.h"
#include "serve/routed.h"

namespace pando::serve {

// Takes the body of a request as it comes.
class BodySink {
 public:
  virtual ~BodySink() = default;
  virtual Status add(std::string_view bytes) = 0;
};

// A line of a batch, which is asked like a request but may wait.
struct BatchedLine {
  double ttft_slo = 0;  // seconds until its first token is due
  int64_t created = 0;  // of its answer, seconds since 1970
  int max_open = 1;     // of its answers, that the engine has at a time
};

struct HttpRequest {
  std::chrono::steady_clock::time_point arrival;  // when all of it was there
  std::string id;                                 // of its answer
  std::string log_id;                             // in logs: the client's, or `id`
  std::string method;
  std::string path;       // without the query
  std::string parameter;  // text in `path` that matches the parameter of its route
  std::string query;      // "order=asc&limit=5"; may be empty
  std::string host, accept, if_none_match;  // headers
  std::string content_type, content_encoding;
  std::string body;
  std::unique_ptr<BodyMemory::Share> memory = {};  // the body's
  std::unique_ptr<BodySink> upload = {};           // took the body, which is empty
  std::optional<BatchedLine> batched = {};         // absent: a client waits for the answer
  uint64_t isolation_key = 0;                      // of whoever asks
  std::string routed_header;                       // kRoutedHeader; empty: not sent
  bool may_be_routed = false;                      // its sender may say what only routers may
  std::optional<Routed> routed = {};               // of the header
  std::atomic<bool> is_given_up{false};            // nobody waits for its answer

  // Value of a name in the query; empty if the query does not have the name.
  std::string query_value(std::string_view name) const;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Contents of an open file, sent as a body.
struct FileContents {
  int file = -1;  // descriptor
  uint64_t n_bytes = 0;

  FileContents(int opened, uint64_t size) : file(opened), n_bytes(size) {}
  ~FileContents();
  FileContents(const FileContents&) = delete;
  FileContents& operator=(const FileContents&) = delete;
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  HttpHeaders headers;
  std::optional<ask::HttpError> error;                // written as `body` in the form of its route
  std::shared_ptr<const FileContents> contents = {};  // in place of `body`
};

// The log says this of an answer.
struct Tally {
  uint64_t n_prompt = 0, n_cached = 0;  // tokens of its prompts, and what was there of them
  uint64_t n_answer = 0;                // tokens of answers that are complete
  std::string error, error_param;       // its code, where it failed, and the field to blame
};

// Reads a request's target, which may begin with the server ("http://host/path?query").
std::string_view path_of(std::string_view target);
std::string_view query_of(std::string_view target);
inline bool is_head(std::string_view method) { return method == "HEAD"; }
// Now, as a header says it (RFC 9110, section 5.6.7).
std::string http_date();
// A part of a path with what stands for %20 and the like.
std::string unescaped(std::string_view text);

// With the headers that go with its status; `retry_after` in seconds.
HttpResponse error_response(const ask::HttpError& error, int retry_after = 1);
HttpResponse json_response(const Json& body);
// Answers a request that asks for what cannot be.
HttpResponse wrong_request(int status, const char* code, std::string message,
                           std::string param = "");
// The server answers this when it ends; `more` may follow in the message.
ask::HttpError shutting_down(const std::string& more = "");
ask::HttpError timed_out(std::chrono::seconds after);

// Sends the answer to one request: send() once; or begin_stream(), then any number of write(), then
// end_stream() or fail_stream(). They throw if the client is gone.
class Replier {
 public:
  virtual ~Replier() = default;
  virtual boost::asio::awaitable<void> send(HttpResponse response) = 0;
  virtual boost::asio::awaitable<void> begin_stream(const char* content_type) = 0;
  virtual boost::asio::awaitable<void> write(std::string events) = 0;
  // Ends a stream with its last events.
  virtual boost::asio::awaitable<void> end_stream(std::string events) = 0;
  virtual boost::asio::awaitable<void> fail_stream(ask::HttpError error) = 0;
  virtual bool has_begun() const = 0;  // something was sent

  Tally tally;
  HttpHeaders headers;  // that go with the head of the answer, beside the response's own
};

}  // namespace pando::serve
