// Names of instruction sets, and the limit that the environment may set.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/cpu/kernel/kernels.h"
#include "pando/values/result.h"

namespace pando::kernel {

// "portable", "avx2", "avxvnni", "avx512", "avx512bf16" or "amx"; on 64-bit ARM "portable", "neon",
// "dotprod" or "i8mm".
std::optional<Isa> isa_named(std::string_view name);

// The environment variable PANDO_ISA as it was first read, "" where it is not set. `kernels_for`
// and `best_kernels` take instruction sets beyond the one it names as absent: for tools such as
// valgrind, which knows no AVX-512, and for tests. A name that is none limits nothing; who loads a
// model or opens an engine is told of it (`kernels_by_name`).
std::string_view isa_limit();

// The table of that name, or for "" the best one without wrong products (self_test.h).
// kInvalidArgument for one that is not there or has wrong products, and where PANDO_ISA names none.
Result<const Kernels*> kernels_by_name(std::string_view name);
// A line of text for each table better than that one, all of which have wrong products.
const std::vector<std::string>& refused_kernels();

}  // namespace pando::kernel
