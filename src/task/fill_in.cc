#include "task/fill_in.h"

#include <algorithm>
#include <map>
#include <vector>

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

std::string near_fields(std::string_view text, std::span<const std::string_view> fields,
                        std::span<const std::string_view> meant) {
  // A template of a request may have any number of other names, and each takes time.
  constexpr int kMostOthers = 64;
  constexpr size_t kMostNamed = 8;
  constexpr std::string_view kOfNames =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  int n_others = 0;
  std::map<std::string_view, std::string> hints;  // for each of `names`
  std::vector<std::string_view> names;            // in the order of the text
  for (size_t begin = text.find('{'); begin != std::string_view::npos && n_others < kMostOthers;
       begin = text.find('{', begin + 1)) {
    const size_t end = text.find_first_not_of(kOfNames, begin + 1);
    if (end == std::string_view::npos || end == begin + 1 || text[end] != '}') continue;
    const bool is_doubled =
        begin > 0 && text[begin - 1] == '{' && text.substr(end + 1).starts_with('}');
    const std::string_view found = text.substr(begin, end + 1 - begin);
    if (is_doubled || std::ranges::find(fields, found) != fields.end()) continue;
    ++n_others;
    std::string hint = nearest_hint(found, meant);
    if (!hint.empty() && hints.emplace(found, std::move(hint)).second) names.push_back(found);
  }
  if (names.empty()) return {};
  if (names.size() == 1)
    return fmt::format("the template has the field {}, which is unknown{}", names[0],
                       hints[names[0]]);
  const bool has_more = names.size() > kMostNamed;
  names.resize(std::min(names.size(), kMostNamed));
  std::string all;
  for (const std::string_view name : names)
    all += fmt::format("{}{}{}", all.empty() ? "" : ", ", name, hints[name]);
  return fmt::format("the template has fields that are unknown: {}{}", all,
                     has_more ? " and others" : "");
}

Status check_field(std::string_view text, std::span<const std::string_view> fields,
                   std::string_view field, std::string_view reason) {
  if (text.find(field) != std::string_view::npos) return {};
  // If `field` is misspelt, the message names all misspelt fields, so that one edit corrects them.
  if (!near_fields(text, fields, std::span(&field, 1)).empty())
    return invalid_argument("{}", near_fields(text, fields, fields));
  return invalid_argument("the template has no {} in it{} (hint: write {} where the {} belongs)",
                          field, reason, field, field.substr(1, field.size() - 2));
}

std::string template_warning_of(std::string_view text, std::span<const std::string_view> fields) {
  return near_fields(text, fields, fields);
}

}  // namespace pando
