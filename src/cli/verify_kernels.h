// A device's kernels beside plain loops.
#pragma once

#include <string>

namespace pando::cli {

// Prints a line for each kind of kernel. The exit code: kOk where all bits are equal.
int verify_kernels(const std::string& device);

}  // namespace pando::cli
