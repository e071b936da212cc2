// `pando verify --device` without a model: compares a device's kernels with plain loops.
#pragma once

#include <string>

namespace pando::cli {

// Prints a line for each kind of kernel. The exit code is kOk if all bits are equal.
int verify_kernels(const std::string& device);

}  // namespace pando::cli
