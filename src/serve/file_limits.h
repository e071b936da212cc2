// Limits of files, and the clock that they expire by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace pando::serve {

struct FileLimits {
  size_t n_files = 1000;                  // of one API key
  size_t n_bytes = size_t{10} << 30;      // of all files of one API key
  size_t file_bytes = size_t{512} << 20;  // of one uploaded file
};

// Limits of one API key.
struct BatchLimits {
  size_t n_open = 100;     // batches that are not over
  size_t n_kept = 10'000;  // rows of batches
};

// Seconds since 1970.
using UnixTime = std::function<int64_t()>;

}  // namespace pando::serve
