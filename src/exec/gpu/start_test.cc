#include "exec/gpu/start_test.h"

#include <fmt/format.h>

#include <exception>

#include "base/failures.h"
#include "base/fp_state.h"
#include "exec/gpu/check_cases.h"

namespace pando::exec::gpu {

std::vector<KernelCheck> check_kernels(Host& host, CheckSize size) {
  const FpStateGuard guard;
  CheckCases cases(host, size);
  for (const auto check : {check_products, check_rows, check_heads, check_attention}) check(cases);
  return cases.take();
}

Status start_test(Host& host) {
  try {
    for (const KernelCheck& check : check_kernels(host, CheckSize::kStart))
      if (check.n_different > 0)
        return unsupported("{} gives other bits than the processor: {} of {} cases of {} differ",
                           host.name(), check.n_different, check.n_cases, check.name);
  } catch (const std::exception& error) {
    return unsupported("{}", reason_of(error));
  }
  return {};
}

}  // namespace pando::exec::gpu
