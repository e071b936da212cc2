#include "pando/devices.h"

#include "contract/device.h"

namespace pando {

std::vector<DeviceInfo> device_list() {
  std::vector<DeviceInfo> all;
  for (const Device* device : devices())
    all.push_back({std::string(device->name()), device->description(), device->memory_bytes(),
                   device->refusal()});
  return all;
}

std::vector<std::string> device_names() {
  std::vector<std::string> all;
  for (const Device* device : devices()) all.emplace_back(device->name());
  return all;
}

Result<std::vector<KernelCheck>> check_kernels(std::string_view device) {
  const Result<const Device*> found = find_device(device);
  if (!found) return found.error();
  return (*found)->check_kernels();
}

}  // namespace pando
