// Keys and stored things that a server opens before it takes requests.
#pragma once

#include <memory>

#include "serve/api_keys.h"
#include "serve/file_store.h"
#include "serve/options.h"
#include "serve/response_database.h"

namespace pando::serve {

struct ServerState {
  ServerKeys keys;
  std::unique_ptr<ResponseDatabase> responses;
  std::unique_ptr<FileStore> files;  // null without a state directory
};

// Errors: kInvalidArgument for keys, kBadFile for stored responses that cannot be read.
Result<ServerState> open_state(const ServerOptions& options);

}  // namespace pando::serve
