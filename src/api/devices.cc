#include "pando/devices.h"

#include "contract/device.h"

namespace pando {

std::vector<DeviceInfo> device_list() {
  std::vector<DeviceInfo> all;
  for (const Device* device : devices())
    all.push_back({std::string(device->name()), device->description()});
  return all;
}

}  // namespace pando
