// Helpers of the fuzz targets. A target returns if its input was refused as it should be, and ends
// the program if something is wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "model/test_files.h"
#include "pando/values/result.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

// libFuzzer's entry to a target; returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace pando::fuzz {

inline void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz target: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// An error is one short line of UTF-8, whatever the file held.
inline void check_error(const Error& error) {
  demand(!error.message().empty() && error.message().size() < 2500, "a message of no or great length");
  demand(!find_invalid_utf8(error.message()), "a message that is not UTF-8");
  demand(error.code != ErrorCode::kInternal, error.message().c_str());  // no input is a bug
}

// The pieces between zero bytes; missing pieces are empty.
template <size_t n>
std::array<std::string_view, n> pieces_of(std::string_view text) {
  std::array<std::string_view, n> pieces;
  for (size_t i = 0; i < n; ++i) {
    pieces[i] = i + 1 < n ? text.substr(0, text.find('\0')) : text;
    text.remove_prefix(std::min(text.size(), pieces[i].size() + 1));
  }
  return pieces;
}

// The files of an input that holds several: at most `most`, the last with all that is left.
inline std::vector<std::string_view> files_of(std::string_view text, size_t most) {
  constexpr std::string_view kNextFile = "\n=== next file ===\n";
  std::vector<std::string_view> files;
  for (size_t end; files.size() + 1 < most && (end = text.find(kNextFile)) != text.npos;
       text.remove_prefix(end + kNextFile.size()))
    files.push_back(text.substr(0, end));
  files.push_back(text);
  return files;
}

// The folder of this process.
inline const TemporaryFolder& folder() {
  static const TemporaryFolder folder;
  return folder;
}

}  // namespace pando::fuzz
