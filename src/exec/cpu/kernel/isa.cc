#include "exec/cpu/kernel/isa.h"

#include <cstdlib>
#include <string>

#include "base/errors.h"

namespace pando::kernel {

std::optional<Isa> isa_named(std::string_view name) {
  if (name == "portable") return Isa::kPortable;
  if (name == "avx2") return Isa::kAvx2;
  if (name == "avx512") return Isa::kAvx512;
  if (name == "avx512bf16") return Isa::kAvx512Bf16;
  if (name == "amx") return Isa::kAmx;
  return std::nullopt;
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
    return invalid_argument(
        "the environment variable PANDO_ISA is '{}', expected portable, avx2, avx512, avx512bf16 "
        "or amx",
        limit);
  if (name.empty()) return &best_kernels();
  if (const std::optional<Isa> isa = isa_named(name))
    if (const Kernels* kernels = kernels_for(*isa)) return kernels;
  return invalid_argument(
      "instruction set '{}' is not available here: expected portable, avx2, avx512, avx512bf16 or "
      "amx, "
      "as far as "
      "this processor has them and PANDO_ISA allows",
      name);
}

}  // namespace pando::kernel
