#include "exec/ranks/ranks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/errors.h"

namespace pando::exec {
namespace {

constexpr uint32_t kSpan = 2048;  // positions; what an engine's spans have

struct Field {
  std::string_view name;
  int most;
  void (*set)(RankLayout&, int);
};
constexpr std::array kFields = {
    Field{"replicas", 4096, [](RankLayout& layout, int n) { layout.replicas = n; }},
    Field{"spp", 4096, [](RankLayout& layout, int n) { layout.spp = n; }},
    Field{"kvp", 64, [](RankLayout& layout, int n) { layout.kvp = n; }},
    Field{"tp", 4096, [](RankLayout& layout, int n) { layout.tp = n; }},
    Field{"kvp_tokens", 1 << 30,
          [](RankLayout& layout, int n) { layout.kvp_tokens = static_cast<uint32_t>(n); }},
};

}  // namespace

Result<RankLayout> RankLayout::parse(std::string_view text) {
  RankLayout layout;
  std::array<bool, kFields.size()> seen = {};
  for (std::string_view rest = text;;) {
    const std::string_view field = rest.substr(0, rest.find(','));
    const size_t at = field.find('=');
    const std::string_view name = field.substr(0, at);
    const size_t i = std::ranges::find(kFields, name, &Field::name) - kFields.begin();
    if (at == std::string_view::npos || i == kFields.size())
      return invalid_argument(
          "parallel has '{}', expected replicas=N, spp=N, kvp=N, tp=N or kvp_tokens=N, "
          "separated by commas",
          field);
    const std::string_view digits = field.substr(at + 1);
    int n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error != std::errc() || end != digits.data() + digits.size() || n < 1 ||
        n > kFields[i].most)
      return invalid_argument("parallel has '{}', expected a number from 1 to {} for {}", field,
                              kFields[i].most, name);
    if (seen[i]) return invalid_argument("parallel names {} twice, expected once", name);
    seen[i] = true;
    kFields[i].set(layout, n);
    if (field.size() == rest.size()) break;
    rest.remove_prefix(field.size() + 1);
  }
  if (layout.kvp_tokens % kSpan != 0 || !std::has_single_bit(layout.kvp_tokens))
    return invalid_argument("kvp_tokens is {}, expected a power of two of at least {}",
                            layout.kvp_tokens, kSpan);
  return layout;
}

Status check_layout(const model::ModelConfig& config, const RankLayout& layout, int rank) {
  if (layout.kvp > 1 && config.n_recurrent_layers() > 0)
    return unsupported("kvp is {}, expected 1 for models with recurrent layers, such as {}",
                       layout.kvp, config.family->name);
  return model::check_share(config, layout.share_of(rank));
}

}  // namespace pando::exec
