// A server is told these options.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/generation_config.h"
#include "serve/file_limits.h"
#include "serve/response_database.h"

namespace pando::serve {

// Says which requests get a line.
enum class LogRequests { kNone, kErrors, kAll };

// Niceness that a server's engine is to be opened with, and that its threads for texts take from
// it: a connection that has something to send goes first, and holds a step up for microseconds;
// behind a step's threads it would wait for milliseconds.
inline constexpr int kEngineNice = 10;

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;  // 0: any that is free
  // As requests name the model; others are not found. Answers have the first.
  std::vector<std::string> model_names;
  bool any_model_name = false;  // a request may name any other model, too
  bool lenient =
      false;  // unknown fields of bodies are left out, and a header of the answer has them
  GenerationConfig defaults;  // sampling defaults, for options that a request does not set
  bool page = false;          // for browsers, at /
  int io_threads = 2;         // for connections
  int text_threads = 2;       // for reading bodies and tokenising; as many for long ones
  // One key in each line, "name:key" or "key"; empty: everybody may ask. Requests of different keys
  // share no prefixes.
  std::vector<std::string> api_keys;
  // Keys of routers, as api_keys. Their requests may say what only routers may (routed.h). Without
  // these keys and without API keys anybody may.
  std::vector<std::string> router_keys;
  bool router_only = false;       // all others may only ask whether the server is alive and ready
  std::string files_fingerprint;  // of the files that the model was read from, for routers
  std::string tls_certificate, tls_key;  // PEM files; empty: plain HTTP
  // Names that requests may call a server by that listens to its machine alone and has no keys,
  // beside addresses and localhost.
  std::vector<std::string> allowed_hosts;
  // Web pages of these may ask from a browser, as in "https://example.org"; "*": all.
  std::vector<std::string> cors_origins;
  size_t max_prompt_bytes = size_t{2} << 30;  // of open requests' prompts, and what answers need
  size_t max_bodies_bytes = size_t{1} << 30;  // of bodies that come or are being read
  std::map<std::string, std::string> public_prefixes;  // texts by name: shared by all keys
  std::string state_directory;  // for what outlives the process; empty: nothing does
  ResponseLimits responses;     // that are kept
  FileLimits files;             // of /v1/files, which needs a state directory
  UnixTime now;                 // for files and batches; empty: the system's clock
  size_t max_connections = 4096;
  size_t max_header_bytes = size_t{16} << 10;
  size_t max_body_bytes = size_t{32} << 20;
  std::chrono::seconds idle_timeout{75};      // between requests of a connection
  std::chrono::seconds body_timeout{60};      // for a request to come, once begun
  std::chrono::seconds write_timeout{30};     // for a client to take what was sent
  std::chrono::seconds request_timeout{600};  // for an answer as a whole
  std::chrono::seconds drain_timeout{30};     // for requests under way when the server stops
  // This is the same after SIGTERM, where it differs.
  std::optional<std::chrono::seconds> sigterm_drain_timeout;
  // Takes the lines of the log, from any thread; must not block. Empty: nothing is said.
  std::function<void(const std::string& line)> log;
  // Called once, when the server begins to stop, from one of its threads; must not block.
  std::function<void()> on_stop;
  LogRequests log_requests = LogRequests::kAll;
};

}  // namespace pando::serve
