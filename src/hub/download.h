// Downloads one file of a hub into the cache.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "hub/cache.h"
#include "hub/hub_client.h"

namespace pando::hub {

// Progress of several downloads. Any thread.
struct Counters {
  std::atomic<uint64_t> n_files{0}, n_bytes{0};  // done
  std::atomic<uint64_t> n_found{0};              // bytes of n_bytes that the cache had before
  std::atomic<int> n_waiting{0};                 // for another process that fetches the same file
};

// Downloads the file into the cache, checks it, and links it in the snapshot. Continues an
// interrupted download. `stop`: the client's. Errors: those of HubClient::file; kIo if the cache
// cannot be written; kBadFile if the bytes do not have the size or the checksum that the hub says.
Status download(HubClient& client, const CachedRepository& repository, const ModelId& id,
                const std::string& commit, const RemoteFile& file, Counters& counters,
                const std::atomic<bool>& stop);

}  // namespace pando::hub
