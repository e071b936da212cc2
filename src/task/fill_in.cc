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

std::string near_field(std::string_view text, std::span<const std::string_view> fields,
                       std::span<const std::string_view> meant) {
  // A template of a request may have any number of other names, and each takes time.
  constexpr int kMostOthers = 64;
  constexpr std::string_view kOfNames =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  int n_others = 0;
  for (size_t begin = text.find('{'); begin != std::string_view::npos && n_others < kMostOthers;
       begin = text.find('{', begin + 1)) {
    const size_t end = text.find_first_not_of(kOfNames, begin + 1);
    if (end == std::string_view::npos || end == begin + 1 || text[end] != '}') continue;
    const bool is_doubled =
        begin > 0 && text[begin - 1] == '{' && text.substr(end + 1).starts_with('}');
    const std::string_view found = text.substr(begin, end + 1 - begin);
    if (is_doubled || std::ranges::find(fields, found) != fields.end()) continue;
    ++n_others;
    if (const std::string hint = nearest_hint(found, meant); !hint.empty())
      return fmt::format("{}, which is unknown{}", found, hint);
  }
  return {};
}

Status check_field(std::string_view text, std::span<const std::string_view> fields,
                   std::string_view field, std::string_view reason) {
  if (text.find(field) != std::string_view::npos) return {};
  if (const std::string near = near_field(text, fields, std::span(&field, 1)); !near.empty())
    return invalid_argument("the template has the field {}", near);
  return invalid_argument("the template has no {} in it{} (hint: write {} where the {} belongs)",
                          field, reason, field, field.substr(1, field.size() - 2));
}

std::string template_warning_of(std::string_view text, std::span<const std::string_view> fields) {
  const std::string near = near_field(text, fields, fields);
  return near.empty() ? "" : fmt::format("the template has the field {}", near);
}

}  // namespace pando
