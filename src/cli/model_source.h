// The one place where a command finds a model by its name.
#pragma once

#include <filesystem>
#include <string>

#include "hub/fetch.h"
#include "pando/values/result.h"

namespace pando::cli {

struct ModelSource {
  std::string name;      // a path, or the id of a model on the hub
  std::string revision;  // empty: main. Of an id alone
  hub::Need need = hub::Need::kModel;
  bool is_tokenizer = false;       // the name may be that of a tokenizer's file
  bool has_own_tokenizer = false;  // --tokenizer names another
  bool may_fetch = true;
  bool quiet = false;
};

// A path that exists comes before an id of the same name. What the cache lacks of an id is fetched,
// with messages and progress on standard error. The result is a directory or a file.
Result<std::filesystem::path> find_source(const ModelSource& source);

// Fetches what the cache lacks, after asking the hub for the newest revision. `name`: an id.
Result<std::filesystem::path> pull_source(const ModelSource& source);

// kNotFound: the environment names no folder for the hub's cache.
Error no_cache();

}  // namespace pando::cli
