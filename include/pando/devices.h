// The devices that this build can compute with.
#pragma once

#include <string>
#include <vector>

namespace pando {

struct DeviceInfo {
  std::string name;         // for ModelOptions::device: "cpu"
  std::string description;  // this machine's, in one line
};

// The first is the default.
std::vector<DeviceInfo> device_list();

}  // namespace pando
