#include "exec/cpu/kernel/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <iterator>

#include "exec/cpu/kernel/cpu/attend_args.h"
#include "exec/cpu/kernel/cpu/linear_block.h"
#include "exec/cpu/kernel/isa.h"

namespace pando::kernel {

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvxVnniKernels;
extern const Kernels kAvx512Kernels;
void bf16_dot_block(const LinearBlockArgs& args);  // cpu/kernels_avx512bf16.cc
bool amx_granted();                                // cpu/kernels_amx.cc
bool amx_takes(DType weights, int m);
void amx_linear_block(const LinearBlockArgs& args);
void amx_pack_row(const PackRowArgs& args);
void amx_attend_int8(const AttendTileArgs& args);
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
extern const Kernels kDotProdKernels;
extern const Kernels kI8mmKernels;
#endif

namespace {

enum class Vendor { kIntel, kAmd, kOther };

Vendor vendor() {
#if defined(__x86_64__)
  static const Vendor vendor = [] {
    __builtin_cpu_init();
    return __builtin_cpu_is("intel") ? Vendor::kIntel
           : __builtin_cpu_is("amd") ? Vendor::kAmd
                                     : Vendor::kOther;
  }();
  return vendor;
#else
  return Vendor::kOther;
#endif
}

bool within_limit(Isa isa) {
  static const Isa limit = isa_named(isa_limit()).value_or(Isa::kAmx);
  return isa <= limit;
}

#if defined(__x86_64__)
const Kernels& avx512bf16_kernels() {
  static const Kernels kernels = [] {
    Kernels table = kAvx512Kernels;
    table.isa = Isa::kAvx512Bf16;
    table.name = "avx512bf16";
    table.linear_block = [](const LinearBlockArgs& args) {
      (args.type == DType::kBF16Dot ? bf16_dot_block : kAvx512Kernels.linear_block)(args);
    };
    return table;
  }();
  return kernels;
}

const Kernels& amx_kernels() {
  static const Kernels kernels = [] {
    Kernels table = avx512bf16_kernels();
    table.isa = Isa::kAmx;
    table.name = "amx";
    table.linear_block = [](const LinearBlockArgs& args) {
      const bool takes = amx_takes(args.type, args.m);
      (takes ? amx_linear_block : avx512bf16_kernels().linear_block)(args);
    };
    table.pack_row = [](const PackRowArgs& args) {
      (amx_takes(args.type, args.m) ? amx_pack_row : kAvx512Kernels.pack_row)(args);
    };
    table.attend_tile = [](const AttendTileArgs& args) {
      (args.type == DType::kI8 ? amx_attend_int8 : kAvx512Kernels.attend_tile)(args);
    };
    return table;
  }();
  return kernels;
}

// Asked once: a virtual machine takes 20 us over cpuid. GCC and Clang have no common name for it.
bool has_avx_vnni() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kAvxVnni = 1u << 4;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvxVnni) != 0;
  }();
  return has;
}

bool has_amx_int8() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kTiles = 1u << 24, kInt8 = 1u << 25;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTiles) != 0 && (d & kInt8) != 0 &&
           amx_granted();
  }();
  return has;
}
#endif

}  // namespace

bool widens_once(int n_queries) { return vendor() != Vendor::kAmd && n_queries >= 32; }

bool fetches_few_rows([[maybe_unused]] DType weights) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  static const bool is_zen3 = __builtin_cpu_is("znver3");
  if (is_zen3) return is_quantized(weights);
#endif
  return vendor() == Vendor::kIntel;
}

const Kernels* kernels_for(Isa isa) {
  if (isa == Isa::kPortable) return &kPortableKernels;
  if (!within_limit(isa)) return nullptr;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // Every processor with AVX2 and FMA also has F16C.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::kAvx2 && avx2) return &kAvx2Kernels;
  if (isa == Isa::kAvxVnni && avx2 && has_avx_vnni()) return &kAvxVnniKernels;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni");
  if (isa == Isa::kAvx512 && avx512) return &kAvx512Kernels;
  const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
  if (isa == Isa::kAvx512Bf16 && bf16) return &avx512bf16_kernels();
  if (isa == Isa::kAmx && bf16 && has_amx_int8()) return &amx_kernels();
#elif defined(__aarch64__)
  if (isa == Isa::kNeon) return &kNeonKernels;  // part of the architecture
  const bool dot_products = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  if (isa == Isa::kDotProd && dot_products) return &kDotProdKernels;
  const bool mixed_signs = dot_products && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  if (isa == Isa::kI8mm && mixed_signs) return &kI8mmKernels;
#endif
  return nullptr;
}

const Kernels& best_kernels() {
  for (auto isa = std::rbegin(kIsas); isa != std::rend(kIsas); ++isa)
    if (const Kernels* kernels = kernels_for(*isa)) return *kernels;
  return kPortableKernels;
}

}  // namespace pando::kernel
