#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace pando {
namespace {

// Characters to change, add or leave out.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t k = 1; k <= b.size(); ++k) {
      const size_t changed = diagonal + (a[i - 1] != b[k - 1]);
      diagonal = row[k];
      row[k] = std::min({changed, row[k - 1] + 1, row[k] + 1});
    }
  }
  return row.back();
}

// The same, or one more than to the first words of `known`.
size_t distance_to_words(std::string_view name, std::string_view known) {
  size_t least = distance(name, known);
  for (size_t end = known.find('-', 2); end != std::string_view::npos;
       end = known.find('-', end + 1))
    least = std::min(least, distance(name, known.substr(0, end)) + 1);
  return least;
}

}  // namespace

std::string nearest_hint(std::string_view name, std::span<const std::string_view> known) {
  constexpr size_t kLongest = 64;  // what is longer is no name, and takes long to compare
  if (name.empty() || name.size() > kLongest) return {};
  std::string_view found;
  size_t most = std::min(name.size() - 1, std::max<size_t>(2, name.size() / 3));  // else not meant
  for (const std::string_view other : known)
    if (const size_t d = distance_to_words(name, other); d <= most) {
      most = d;
      found = other;
    }
  return found.empty() ? "" : fmt::format(" (hint: '{}'?)", found);
}

}  // namespace pando
