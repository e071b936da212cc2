#include "contract/word_delta.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "base/check.h"
#include "base/errors.h"
#include "base/mix.h"

namespace pando {
namespace {

using Words = std::vector<uint32_t>;

constexpr uint32_t kCopied = 0x80000000;  // else the words of a run are new
constexpr size_t kLeastRun = 4;           // a shorter copy saves nothing

Words words_of(std::span<const std::byte> bytes) {
  Words words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

std::vector<std::byte> bytes_of(const Words& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

// Finds runs of one message in another.
class Runs {
 public:
  explicit Runs(const Words& before) : before_(before) {
    for (size_t i = 0; i + kLeastRun <= before.size(); ++i) first_.try_emplace(key(before, i), i);
  }

  // Finds the longer run that equals `now` from i on: at `expected`, or where these words came
  // first. Returns its length, and its index in `at`.
  size_t find(const Words& now, size_t i, size_t expected, size_t& at) const {
    at = expected;
    size_t n = n_equal(now, i, expected);
    if (n >= kLeastRun || i + kLeastRun > now.size()) return n;
    if (const auto found = first_.find(key(now, i)); found != first_.end()) {
      at = found->second;
      n = n_equal(now, i, at);
    }
    return n;
  }

 private:
  static uint64_t key(const Words& words, size_t i) {
    uint64_t key = 0;
    for (size_t k = 0; k < kLeastRun; ++k) key = mix64(key ^ words[i + k]);
    return key;
  }
  size_t n_equal(const Words& now, size_t i, size_t at) const {
    size_t n = 0;
    while (i + n < now.size() && at + n < before_.size() && now[i + n] == before_[at + n]) ++n;
    return n;
  }

  const Words& before_;
  std::unordered_map<uint64_t, size_t> first_;
};

}  // namespace

std::vector<std::byte> delta_of(std::span<const std::byte> before_bytes,
                                std::span<const std::byte> now_bytes) {
  PANDO_CHECK(before_bytes.size() % sizeof(uint32_t) == 0 &&
              now_bytes.size() % sizeof(uint32_t) == 0);
  const Words before = words_of(before_bytes), now = words_of(now_bytes);
  PANDO_CHECK(now.size() < kCopied);
  const Runs runs(before);
  Words delta = {static_cast<uint32_t>(now.size())};
  size_t new_run = 0;       // index of the open run of new words; 0: there is none
  size_t expected = 0, at;  // in `before`
  for (size_t i = 0; i < now.size();) {
    const size_t n = runs.find(now, i, expected, at);
    if (n >= kLeastRun) {
      delta.push_back(kCopied | static_cast<uint32_t>(n));
      delta.push_back(static_cast<uint32_t>(at));
      new_run = 0;
      i += n;
      expected = at + n;
      continue;
    }
    if (new_run == 0) {
      new_run = delta.size();
      delta.push_back(0);
    }
    ++delta[new_run];
    delta.push_back(now[i++]);
    ++expected;  // words that changed in place
  }
  return bytes_of(delta);
}

Result<std::vector<std::byte>> apply_delta(std::span<const std::byte> before_bytes,
                                           std::span<const std::byte> delta_bytes) {
  const auto fail = [](const char* what) {
    return invalid_argument("delta: {}, expected one written by delta_of", what);
  };
  const Words before = words_of(before_bytes), delta = words_of(delta_bytes);
  if (delta.empty() || delta_bytes.size() % sizeof(uint32_t) != 0)
    return fail("the data is no whole number of words");
  const size_t n_words = delta[0];
  Words now;
  for (size_t i = 1; i < delta.size();) {
    const size_t n = delta[i] & ~kCopied;
    const bool is_copied = (delta[i++] & kCopied) != 0;
    if (n == 0 || n > n_words - now.size()) return fail("a run is longer than the message");
    if (i == delta.size() || (!is_copied && n > delta.size() - i)) return fail("a run is cut");
    const size_t at = is_copied ? delta[i] : i;
    const Words& from = is_copied ? before : delta;
    if (at > from.size() || n > from.size() - at)
      return fail("a run is outside of the message before");
    now.insert(now.end(), from.begin() + static_cast<std::ptrdiff_t>(at),
               from.begin() + static_cast<std::ptrdiff_t>(at + n));
    i += is_copied ? 1 : n;
  }
  if (now.size() != n_words) return fail("runs are missing");
  return bytes_of(now);
}

}  // namespace pando
