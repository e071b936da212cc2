// The devices that this build can compute with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/kernel_check.h"
#include "pando/values/result.h"

namespace pando {

struct DeviceInfo {
  std::string name;           // for ModelOptions::device: "cpu"
  std::string description;    // this machine's, in one line; "" if there is none
  uint64_t memory_bytes = 0;  // in all; 0: unknown
  std::string refusal;        // the reason why it cannot be used; "": it can
};

// The first is the default. Opens the drivers that the machine has.
std::vector<DeviceInfo> device_list();
// Their names alone, without opening anything.
std::vector<std::string> device_names();

// Computes cases of each kernel of the device and compares every bit with plain loops. Errors:
// kInvalidArgument for a device that has no kernels to compare, kUnsupported for one that cannot be
// used.
Result<std::vector<KernelCheck>> check_kernels(std::string_view device);

}  // namespace pando
