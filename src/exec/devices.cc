#include <vector>

#include "base/errors.h"
#include "contract/device.h"
#include "exec/cpu/cpu_device.h"
#include "exec/gpu/gpu_devices.h"
#include "exec/scalar/scalar_device.h"

namespace pando {

std::span<const Device* const> devices() {
  static const Device* const all[] = {&exec::cpu_device(), &exec::scalar_device(),
                                      &exec::emulated_device(), &exec::opencl_device(),
                                      &exec::cuda_device()};
  return all;
}

Result<const Device*> find_device(std::string_view name) {
  if (name.empty()) return devices().front();
  std::vector<std::string_view> names;
  for (const Device* device : devices()) {
    if (device->name() == name) return device;
    names.push_back(device->name());
  }
  return invalid_option("device", "is '{}', expected {}", name, one_of_these(names));
}

}  // namespace pando
