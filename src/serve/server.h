// The HTTP server: of one engine, or of another door.
#pragma once

#include <cstdint>
#include <memory>

#include "pando/engine.h"
#include "serve/door.h"
#include "serve/options.h"

namespace pando::serve {

class Server {
 public:
  // Takes the address; clients may connect from now on. The engine must live longer. Errors: kIo
  // for an address that cannot be had, kInvalidArgument for keys and public prefixes, kBadFile for
  // a certificate, or for stored responses that cannot be read.
  static Result<std::unique_ptr<Server>> open(Engine& engine, const ServerOptions& options);
  // Opens a server over any door. Errors: kIo and kBadFile as above.
  static Result<std::unique_ptr<Server>> open(std::unique_ptr<Door> door);
  ~Server();

  // Refuses what open would refuse whatever the engine: an address that cannot be had, keys, a
  // certificate, stored responses. For callers that take long to make an engine.
  static Status check(const ServerOptions& options);

  bool is_local() const;  // it listens to this machine alone
  uint16_t port() const;  // that it has

  // Serves until it is stopped. With `stop_on_signals`, SIGINT and SIGTERM stop it, and a second
  // one at once.
  void run(bool stop_on_signals);
  // Any thread: no new requests; those under way are answered, within drain_timeout.
  void stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando::serve
