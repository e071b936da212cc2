#include "exec/ranks/ranks.h"

#include <charconv>

#include "base/errors.h"

namespace pando::exec {

Result<RankLayout> RankLayout::parse(std::string_view text) {
  constexpr int kMost = 4096;
  RankLayout layout;
  bool seen[2] = {};
  for (std::string_view rest = text;;) {
    const std::string_view field = rest.substr(0, rest.find(','));
    const size_t at = field.find('=');
    const std::string_view name = field.substr(0, at);
    const bool is_spp = name == "spp";
    if (at == std::string_view::npos || (!is_spp && name != "tp"))
      return invalid_argument("parallel has '{}', expected spp=N or tp=N, separated by commas",
                              field);
    const std::string_view digits = field.substr(at + 1);
    int n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error != std::errc() || end != digits.data() + digits.size() || n < 1 || n > kMost)
      return invalid_argument("parallel has '{}', expected a number from 1 to {} for {}", field,
                              kMost, name);
    if (seen[is_spp]) return invalid_argument("parallel names {} twice, expected once", name);
    seen[is_spp] = true;
    (is_spp ? layout.spp : layout.tp) = n;
    if (field.size() == rest.size()) return layout;
    rest.remove_prefix(field.size() + 1);
  }
}

}  // namespace pando::exec
