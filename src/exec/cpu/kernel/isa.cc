#include "exec/cpu/kernel/isa.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/errors.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/self_test.h"

namespace pando::kernel {
namespace {

// In the order of kIsas.
#if defined(__aarch64__)
constexpr std::string_view kNames[] = {"portable", "neon", "dotprod", "i8mm"};
#else
constexpr std::string_view kNames[] = {"portable", "avx2",       "avxvnni",
                                       "avx512",   "avx512bf16", "amx"};
#endif
static_assert(std::size(kNames) == std::size(kIsas));

const KernelChoice& best_choice() {
  static const KernelChoice choice = [] {
    std::vector<const Kernels*> tables;
    for (const Isa isa : kIsas)
      if (const Kernels* kernels = kernels_for(isa)) tables.insert(tables.begin(), kernels);
    return choose_kernels(tables);
  }();
  return choice;
}

}  // namespace

std::optional<Isa> isa_named(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return kIsas[found - kNames];
}

std::string_view isa_limit() {
  static const std::string limit = [] {
    const char* value = std::getenv("PANDO_ISA");
    return std::string(value != nullptr ? value : "");
  }();
  return limit;
}

Result<const Kernels*> kernels_by_name(std::string_view name) {
  const std::string_view limit = isa_limit();
  if (!limit.empty() && !isa_named(limit))
    return invalid_argument("the environment variable PANDO_ISA is '{}', expected {}", limit,
                            one_of_these(kNames));
  if (name.empty()) return best_choice().kernels;
  const std::optional<Isa> isa = isa_named(name);
  const Kernels* const kernels = isa ? kernels_for(*isa) : nullptr;
  if (kernels == nullptr)
    return invalid_argument(
        "instruction set '{}' is not available here: expected {}, as far as this processor has "
        "them and PANDO_ISA allows",
        name, one_of_these(kNames));
  if (const std::optional<DType> wrong = known_wrong_product(*kernels))
    return invalid_argument(
        "instruction set '{}' fails its test here: products with {} weights differ from those of "
        "'portable', expected equal bits",
        name, dtype_name(*wrong));
  return kernels;
}

const std::vector<std::string>& refused_kernels() { return best_choice().refused; }

}  // namespace pando::kernel
