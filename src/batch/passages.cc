#include "batch/passages.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/mix.h"

namespace pando {
namespace {

// Texts between empty lines.
std::vector<std::string_view> split(std::string_view context) {
  std::vector<std::string_view> texts;
  while (!context.empty()) {
    const size_t end = std::min(context.find("\n\n"), context.size());
    if (end > 0) texts.push_back(context.substr(0, end));
    context.remove_prefix(std::min(context.size(), end + 2));
  }
  return texts;
}

}  // namespace

void Passages::add(const std::string& context) {
  std::vector<uint32_t> ids;
  for (const std::string_view text : split(context)) {
    const auto [found, is_new] = ids_.emplace(XXH3_64bits(text.data(), text.size()),
                                              static_cast<uint32_t>(passages_.size()));
    if (is_new) {
      const auto tokens = model_.encode(text, /*add_bos=*/false);
      passages_.push_back({0, tokens ? tokens->size() : 0});
    }
    if (std::find(ids.begin(), ids.end(), found->second) == ids.end())
      ++passages_[found->second].n_contexts;
    ids.push_back(found->second);
  }
  contexts_.push_back(std::move(ids));
}

uint64_t Passages::n_repeated() const {
  return static_cast<uint64_t>(std::count_if(passages_.begin(), passages_.end(),
                                             [](const Passage& p) { return p.n_contexts > 1; }));
}

uint64_t Passages::saved_by_order() const {
  std::vector<std::vector<uint32_t>> ordered = contexts_;
  for (std::vector<uint32_t>& context : ordered)
    std::sort(context.begin(), context.end(), [&](uint32_t a, uint32_t b) {
      const uint64_t n_a = passages_[a].n_contexts, n_b = passages_[b].n_contexts;
      return n_a != n_b ? n_a > n_b : a < b;
    });
  const uint64_t now = distinct_tokens(contexts_), then = distinct_tokens(ordered);
  return now > then ? now - then : 0;
}

// A passage is computed once for each different sequence of passages before it.
uint64_t Passages::distinct_tokens(const std::vector<std::vector<uint32_t>>& contexts) const {
  std::unordered_set<uint64_t> paths;
  uint64_t n = 0;
  for (const std::vector<uint32_t>& context : contexts) {
    uint64_t path = 0;
    for (const uint32_t id : context) {
      path = mix64(path + 1 + id);
      if (paths.insert(path).second) n += passages_[id].n_tokens;
    }
  }
  return n;
}

}  // namespace pando
