// One file of a hub into the cache.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "hub/cache.h"
#include "hub/hub_client.h"

namespace pando::hub {

// How far several downloads are. Any thread.
struct Counters {
  std::atomic<uint64_t> n_files{0}, n_bytes{0};  // done
  std::atomic<uint64_t> n_found{0};              // bytes of these that were here before
  std::atomic<int> n_waiting{0};                 // for another process that fetches the same file
};

// Puts the file's contents, checked, into the cache and links them to the snapshot. An interrupted
// download goes on where it ended. `stop`: as of the client. Errors: as of HubClient::file; kIo if
// the cache cannot be written; kBadFile if the hub's bytes do not have the size or the checksum
// that it says.
Status download(HubClient& client, const CachedRepository& repository, const ModelId& id,
                const std::string& commit, const RemoteFile& file, Counters& counters,
                const std::atomic<bool>& stop);

}  // namespace pando::hub
