#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/errors.h"

namespace pando {
namespace {

constexpr size_t kNotMeant = std::numeric_limits<size_t>::max();

// Characters to change, add or leave out, or neighbours to swap.
size_t distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> all((a.size() + 1) * width);  // of the beginnings of both
  const auto at = [&](size_t i, size_t k) -> size_t& { return all[i * width + k]; };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (size_t k = 0; k <= b.size(); ++k) at(0, k) = k;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t k = 1; k <= b.size(); ++k) {
      at(i, k) =
          std::min({at(i - 1, k - 1) + (a[i - 1] != b[k - 1]), at(i, k - 1) + 1, at(i - 1, k) + 1});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        at(i, k) = std::min(at(i, k), at(i - 2, k - 2) + 1);
    }
  return at(a.size(), b.size());
}

// The distance of a likely misspelling, else kNotMeant: at most two characters or a third of the
// name, and less than half of the shorter name, or exactly half if that is one character.
size_t likely_distance(std::string_view name, std::string_view known) {
  const size_t d = distance(name, known);
  const size_t most = std::max<size_t>(2, name.size() / 3);
  const size_t shorter = std::min(name.size(), known.size());
  const bool is_like = d <= 1 ? 2 * d <= shorter : 2 * d < shorter;
  return d <= most && is_like ? d : kNotMeant;
}

// Returns the same, or one more than to the first words of `known`, or to its beginning.
size_t distance_to_words(std::string_view name, std::string_view known) {
  constexpr size_t kBeginning = 3;  // characters that tell something, no dashes of an option
  const size_t n_dashes = std::min(name.find_first_not_of('-'), name.size());
  size_t least = likely_distance(name, known);
  for (size_t end = known.find_first_of("-_", 2); end != std::string_view::npos;
       end = known.find_first_of("-_", end + 1))
    if (const size_t d = likely_distance(name, known.substr(0, end)); d != kNotMeant)
      least = std::min(least, d + 1);
  return name.size() >= kBeginning + n_dashes && known.starts_with(name)
             ? std::min<size_t>(least, 1)
             : least;
}

// A longer text is no name, and takes long to compare.
bool may_be_name(std::string_view name) { return !name.empty() && name.size() <= 64; }

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  if (!may_be_name(name)) return {};
  std::string_view found;
  size_t least = kNotMeant - 1;
  for (const std::string_view other : known)
    if (const size_t d = distance_to_words(name, other); d <= least) {
      least = d;
      found = other;
    }
  return found;
}

std::string nearest_hint(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view found = nearest_name(name, known);
  return found.empty() ? "" : fmt::format(" (hint: '{}'?)", found);
}

Error with_nearest(std::string_view name, std::span<const std::string_view> known, Error error) {
  const std::string_view found = nearest_name(name, known);
  return found.empty() ? error : with_hint(fmt::format("'{}'?", found), std::move(error));
}

}  // namespace pando
