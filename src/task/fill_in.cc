#include "task/fill_in.h"

#include <algorithm>

#include "base/errors.h"
#include "base/nearest.h"

namespace pando {

std::string fill_in(std::string_view text,
                    std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string filled;
  for (size_t at = 0; at < text.size();) {
    size_t taken = 0;
    for (const auto& [name, value] : fields) {
      if (!text.substr(at).starts_with(name)) continue;
      filled += value;
      taken = name.size();
    }
    if (taken == 0) filled += text[at];
    at += std::max<size_t>(taken, 1);
  }
  return filled;
}

Status check_names(std::string_view text, std::span<const std::string_view> names) {
  // A template of a request may have any number of other names, and each takes time.
  constexpr int kMostOthers = 64;
  constexpr std::string_view kOfNames =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  int n_others = 0;
  for (size_t begin = text.find('{'); begin != std::string_view::npos && n_others < kMostOthers;
       begin = text.find('{', begin + 1)) {
    const size_t end = text.find_first_not_of(kOfNames, begin + 1);
    if (end == std::string_view::npos || end == begin + 1 || text[end] != '}') continue;
    const std::string_view found = text.substr(begin, end + 1 - begin);
    if (std::ranges::find(names, found) != names.end()) continue;
    ++n_others;
    if (const std::string hint = nearest_hint(found, names); !hint.empty())
      return invalid_argument("the template has the field {}, which is unknown{}", found, hint);
  }
  return {};
}

}  // namespace pando
