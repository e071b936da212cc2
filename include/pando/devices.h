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
  std::string description;    // this machine's device, in one line; "" if there is none
  uint64_t memory_bytes = 0;  // total; 0: unknown
  std::string refusal;        // why the device cannot be used; "": it can
};

// Lists the devices, the default first. Opens installed drivers.
std::vector<DeviceInfo> device_list();
// Lists their names and opens no driver.
std::vector<std::string> device_names();

// Computes cases of each kernel of the device and compares every bit with plain loops. Errors:
// kInvalidArgument if the device has no kernels to compare, kUnsupported if it cannot be used.
Result<std::vector<KernelCheck>> check_kernels(std::string_view device);

}  // namespace pando
