#include "exec/ranks/ranks.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/errors.h"

namespace pando::exec {

Result<RankLayout> RankLayout::parse(std::string_view text) {
  constexpr int kMost = 4096;
  constexpr std::pair<std::string_view, int RankLayout::*> kFields[] = {
      {"replicas", &RankLayout::replicas}, {"spp", &RankLayout::spp}, {"tp", &RankLayout::tp}};
  RankLayout layout;
  bool seen[std::size(kFields)] = {};
  for (std::string_view rest = text;;) {
    const std::string_view field = rest.substr(0, rest.find(','));
    const size_t at = field.find('=');
    const std::string_view name = field.substr(0, at);
    const auto* const found =
        std::ranges::find(kFields, name, [](const auto& one) { return one.first; });
    if (at == std::string_view::npos || found == std::end(kFields))
      return invalid_argument(
          "parallel has '{}', expected replicas=N, spp=N or tp=N, separated by commas", field);
    const std::string_view digits = field.substr(at + 1);
    int n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error != std::errc() || end != digits.data() + digits.size() || n < 1 || n > kMost)
      return invalid_argument("parallel has '{}', expected a number from 1 to {} for {}", field,
                              kMost, name);
    if (std::exchange(seen[found - kFields], true))
      return invalid_argument("parallel names {} twice, expected once", name);
    layout.*found->second = n;
    if (field.size() == rest.size()) return layout;
    rest.remove_prefix(field.size() + 1);
  }
}

}  // namespace pando::exec
