#include "text/grammar/byte_trie.h"

#include <algorithm>

#include "text/grammar/grammar.h"
#include "text/utf8.h"

namespace pando::grammar {

namespace {

// Bytes in front of the first that is not UTF-8; a character that is cut off at the end counts.
size_t utf8_bytes(std::string_view text) {
  size_t n = 0;
  while (n < text.size()) {
    const Utf8Step step = next_utf8(text.substr(n));
    if (step.kind == Utf8Kind::kInvalid) return n;
    n += static_cast<size_t>(step.length);
  }
  return n;
}

}  // namespace

ByteTrie::ByteTrie(std::vector<Entry> entries) {
  // Tokens that long stand for nothing that is written; the depth is 16 bits.
  std::erase_if(entries, [](const Entry& entry) {
    return entry.bytes.empty() || entry.bytes.size() > 65'000;
  });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.token < b.token;
  });
  nodes_.clear();
  std::vector<uint32_t> path;
  std::string_view last;
  const auto close = [&](size_t depth) {
    while (path.size() > depth) {
      Node& node = nodes_[path.back()];
      node.skip = static_cast<uint32_t>(nodes_.size());
      const bool is_begin = (node.byte & 0xC0) != 0x80;
      if (is_begin && node.n_characters < kManyCharacters) ++node.n_characters;
      path.pop_back();
      if (path.empty()) continue;
      Node& above = nodes_[path.back()];
      above.kinds |= node.kinds;
      above.n_characters = std::max(above.n_characters, node.n_characters);
    }
  };
  for (const Entry& entry : entries) {
    const auto common =
        std::mismatch(last.begin(), last.end(), entry.bytes.begin(), entry.bytes.end());
    close(static_cast<size_t>(common.first - last.begin()));
    const size_t n_utf8 = utf8_bytes(entry.bytes);
    for (size_t depth = path.size(); depth < entry.bytes.size(); ++depth) {
      const auto byte = static_cast<uint8_t>(entry.bytes[depth]);
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(
          {0, static_cast<uint32_t>(tokens_.size()), static_cast<uint16_t>(depth), byte,
           static_cast<uint8_t>(byte_kind(byte) | (depth < n_utf8 ? 0 : kNotUtf8)), 0});
      max_depth_ = std::max(max_depth_, static_cast<uint16_t>(depth));
    }
    tokens_.push_back(entry.token);
    last = entry.bytes;
  }
  close(0);
  nodes_.push_back({0, static_cast<uint32_t>(tokens_.size()), 0, 0, 0, 0});
}

}  // namespace pando::grammar
