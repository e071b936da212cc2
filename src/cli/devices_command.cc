// `pando devices`: what --device may name.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "pando/devices.h"

namespace pando::cli {

Command add_devices(CLI::App&) {
  return [] {
    for (const DeviceInfo& device : device_list())
      fmt::print("{}\t{}\n", device.name, device.description);
    return kOk;
  };
}

}  // namespace pando::cli
