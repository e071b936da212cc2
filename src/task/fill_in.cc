#include "task/fill_in.h"

#include <algorithm>

#include "base/errors.h"

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

Status check_field(std::string_view text, std::string_view field, std::string_view reason) {
  if (text.find(field) != std::string_view::npos) return {};
  return invalid_argument("the template has no {} in it{}", field, reason);
}

}  // namespace pando
