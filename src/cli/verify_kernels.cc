#include "cli/verify_kernels.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "pando/devices.h"

namespace pando::cli {

int verify_kernels(const std::string& device) {
  const Result<std::vector<KernelCheck>> checks = check_kernels(device);
  if (!checks) return refuse(checks.error());
  uint64_t n_cases = 0, n_different = 0;
  for (const KernelCheck& check : *checks) {
    fmt::print("{:<32}{:>6} cases  {}\n", check.name, check.n_cases,
               check.n_different == 0 ? "equal" : fmt::format("{} DIFFER", check.n_different));
    n_cases += check.n_cases;
    n_different += check.n_different;
  }
  if (n_different > 0)
    return report_error(fmt::format("{} of {} cases differ from plain loops on the processor",
                                    n_different, n_cases));
  fmt::print("all bits of {} cases equal\n", n_cases);
  return kOk;
}

}  // namespace pando::cli
