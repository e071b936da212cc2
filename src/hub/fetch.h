// Finds a model by its id in the cache, and fetches what is missing.
#pragma once

#include <functional>
#include <string>

#include "hub/choose_files.h"
#include "hub/hub_client.h"

namespace pando::hub {

struct Sought {
  ModelId id;
  std::string revision = "main";  // a branch, a tag or a commit
  Need need = Need::kModel;
  bool has_own_tokenizer = false;  // the model's tokenizer may be absent
};

struct FetchProgress {
  uint64_t n_files = 0, n_all_files = 0;  // done, and to be fetched in all
  uint64_t n_bytes = 0, n_all_bytes = 0;  // including earlier, interrupted runs
  double seconds = 0;                     // since the first byte
  double bytes_per_second = 0;            // of this run
  int n_waiting = 0;                      // files that another process is fetching
};

struct FetchCalls {
  // Called about every 200 ms while files come, on the caller's thread.
  std::function<void(const FetchProgress&)> progress = [](const FetchProgress&) {};
  // Before files come.
  std::function<void(const std::string&)> note = [](const std::string&) {};
  // About a model that is used although files of it are, or may be, missing.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

// Asks the hub, and fetches files that the cache lacks. Returns the snapshot, or the first part of
// a GGUF file in it. Errors: those of HubClient::repository, choose_files and download; kIo if the
// disk has no room.
Result<std::filesystem::path> fetch(const HubAccess& access, const Sought& sought,
                                    const FetchCalls& calls);

// Returns the same, but asks the hub only if the cache lacks the model or a part of it, or keeps no
// list of files of its commit: another program may have fetched fewer files. If the weights are in
// the cache, the model is completed at its own commit; if that fails, it is used with a warning.
Result<std::filesystem::path> find_or_fetch(const HubAccess& access, const Sought& sought,
                                            const FetchCalls& calls);

// "1.5 GB": bytes for people, in powers of 1,000.
std::string bytes_text(uint64_t bytes);

}  // namespace pando::hub
