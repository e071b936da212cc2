// What all connections of a server use.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "ask/envelope.h"
#include "pando/engine.h"
#include "serve/admission.h"
#include "serve/api_keys.h"
#include "serve/body_memory.h"
#include "serve/connection_registry.h"
#include "serve/file_store.h"
#include "serve/metrics.h"
#include "serve/options.h"
#include "serve/public_prefixes.h"
#include "serve/request_log.h"
#include "serve/response_database.h"
#include "serve/shutdown_guard.h"

namespace pando::serve {

// Any thread may use it.
struct Service {
  Service(Engine& engine, const ServerOptions& options, ApiKeys keys, PublicPrefixes prefixes,
          std::unique_ptr<ResponseDatabase> responses, std::unique_ptr<FileStore> files);

  Engine& engine;
  const ServerOptions& options;
  const ApiKeys keys;
  const PublicPrefixes public_prefixes;
  const std::unique_ptr<ResponseDatabase> responses;
  const std::unique_ptr<FileStore> files;  // null: the server keeps none
  const int64_t started;                   // seconds since 1970
  const std::string warning;               // SharingInfo, of the engine
  std::atomic<bool> draining{false};       // no new requests are taken
  std::atomic<bool> is_cutting{false};     // those that are under way end too, no text is begun
  Metrics metrics;
  ConnectionRegistry connections;
  // For what the engine tells connections; closed before their executors go.
  ShutdownGuard shutdown_guard;
  Admission admission;
  BodyMemory body_memory;
  std::atomic<bool> has_warned{false};  // of a job (ask::Body::log_note)
  bool local_names_only = false;        // else a request may call the server by any name
  // For texts; long ones have threads of their own, so that short ones do not wait for them.
  boost::asio::thread_pool text_pool, long_text_pool;
  boost::asio::thread_pool store_pool;  // one thread; it waits for the disk of the state
  boost::asio::thread_pool file_pool;   // the same for contents of files
  boost::asio::thread_pool batch_pool;  // one thread, for texts of batches

  // Of a new request, and of its answer; not to be guessed.
  std::string new_id();
  ask::Envelope envelope(const std::string& id) const;
  bool serves(const std::string& model) const;  // under this name
  // What a request for another model is told.
  std::string not_served(const std::string& model) const;
  // Tokens of prompt and answer that a request may have.
  size_t longest() const;
  // Of a request that shares with no other.
  uint64_t private_key();

  void log(const LoggedRequest& request) const;
  void log(const std::string& line) const;  // after the time

 private:
  std::atomic<uint64_t> n_private_{0};  // keys given away
};

}  // namespace pando::serve
