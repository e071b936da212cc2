#include "contract/rank_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/errors.h"

namespace pando {
namespace {

constexpr std::string_view kParallel = "parallel";

constexpr uint32_t kSpan = 2048;  // positions of a span of the engine

constexpr int kMostTokens = 1 << 30;  // of a block

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
    Field{"kvp_tokens", kMostTokens,
          [](RankLayout& layout, int n) { layout.kvp_tokens = static_cast<uint32_t>(n); }},
};

bool is_block(int n) {
  return n >= static_cast<int>(kSpan) && n <= kMostTokens &&
         std::has_single_bit(static_cast<unsigned>(n));
}

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
      return invalid_option(kParallel,
                            "has '{}', expected replicas=N, spp=N, kvp=N, tp=N or kvp_tokens=N, "
                            "separated by commas",
                            field);
    const std::string_view digits = field.substr(at + 1);
    int n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size();
    if (name == kFields.back().name && (!is_number || !is_block(n)))
      return invalid_option(kParallel, "has '{}', expected a power of two from {} to {}", field,
                            kSpan, kMostTokens);
    if (!is_number || n < 1 || n > kFields[i].most)
      return invalid_option(kParallel, "has '{}', expected a whole number from 1 to {}", field,
                            kFields[i].most);
    if (seen[i]) return invalid_option(kParallel, "names {} twice, expected once", name);
    seen[i] = true;
    kFields[i].set(layout, n);
    if (field.size() == rest.size()) break;
    rest.remove_prefix(field.size() + 1);
  }
  return layout;
}

std::string RankLayout::division() const {
  std::string stages;
  for (size_t stage = 0; spp > 1 && stage + 1 < cut.size(); ++stage)
    stages +=
        fmt::format("{}{}", stage == 0 ? "the stages have " : ", ", cut[stage + 1] - cut[stage]);
  if (!stages.empty()) stages += " layers; ";
  return stages + (divides_head.value_or(false)
                       ? "the LM head is divided over the last stage's ranks"
                       : "the LM head is whole on rank 0");
}

}  // namespace pando
