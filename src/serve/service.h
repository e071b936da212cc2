// Requests answered by an engine.
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
#include "serve/metrics.h"
#include "serve/options.h"
#include "serve/public_prefixes.h"
#include "serve/replica_report.h"
#include "serve/shutdown_guard.h"
#include "serve/state_door.h"

namespace pando::serve {

// Any thread may use it.
struct Service : StateDoor {
  // The engine must live longer. files: null for a server that keeps none.
  Service(Engine& engine, const ServerOptions& options, ServerKeys keys, PublicPrefixes prefixes,
          std::shared_ptr<ResponseDatabase> responses, std::unique_ptr<FileStore> files);

  Engine& engine;
  const PublicPrefixes public_prefixes;
  const std::string warning;  // SharingInfo, of the engine
  Metrics metrics;
  ReplicaFacts replica;  // for routers
  // For what the engine tells connections; closed before their executors go.
  ShutdownGuard shutdown_guard;
  Admission admission;
  std::atomic<bool> has_warned{false};  // of a job (ask::Body::log_note)
  // For texts; long ones have threads of their own, so that short ones do not wait for them.
  boost::asio::thread_pool text_pool, long_text_pool;

  HttpMetrics& http_metrics() override { return metrics; }
  boost::asio::awaitable<void> handle(HttpRequest& request, Replier& replier) override;
  void close() override;

  ask::Envelope envelope(const std::string& id) const;
  bool serves(const std::string& model) const override;
  std::string not_served(const std::string& model) const override;
  // Tokens of prompt and answer that a request may have.
  size_t longest() const;
  // Makes a key for a request that shares with no other.
  uint64_t private_key();

 private:
  std::atomic<uint64_t> n_private_{0};  // keys given away
};

}  // namespace pando::serve
