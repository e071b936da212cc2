#include "serve/server_state.h"

#include <utility>

#include "base/errors.h"

namespace pando::serve {
namespace {

Result<ServerKeys> keys_of(const ServerOptions& options) {
  Result<ApiKeys> clients = ApiKeys::parse(options.api_keys);
  if (!clients) return clients.error();
  Result<ApiKeys> routers = ApiKeys::parse(options.router_keys);
  if (!routers) return in_file("router keys", routers.error());
  if (options.router_only && routers->empty())
    return invalid_option("router_only", "is true, expected router_keys with it");
  return ServerKeys{std::move(*clients), std::move(*routers)};
}

// Null without a state directory.
Result<std::unique_ptr<FileStore>> open_files(const ServerOptions& options, const ApiKeys& keys) {
  if (options.state_directory.empty()) return std::unique_ptr<FileStore>();
  return FileStore::open({.directory = options.state_directory,
                          .owners = keys.owners(),
                          .limits = options.files,
                          .now = options.now});
}

}  // namespace

Result<ServerState> open_state(const ServerOptions& options) {
  Result<ServerKeys> keys = keys_of(options);
  if (!keys) return keys.error();
  auto responses =
      ResponseDatabase::open(options.state_directory, keys->clients.owners(), options.responses);
  if (!responses) return responses.error();
  auto files = open_files(options, keys->clients);
  if (!files) return files.error();
  return ServerState{std::move(*keys), std::move(*responses), std::move(*files)};
}

}  // namespace pando::serve
