// `pando devices`: what --device may name.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "pando/devices.h"

namespace pando::cli {
namespace {

void print_as_json(const std::vector<DeviceInfo>& devices) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DeviceInfo& device : devices)
    list.push_back({{"name", device.name},
                    {"description", device.description},
                    {"memory_bytes", device.memory_bytes},
                    {"usable", device.refusal.empty()},
                    {"reason", device.refusal}});
  fmt::print("{}\n", list.dump(2));
}

void print_as_text(const std::vector<DeviceInfo>& devices) {
  for (const DeviceInfo& device : devices) {
    fmt::print("{}", device.name);
    if (!device.description.empty()) fmt::print("\t{}", device.description);
    if (device.memory_bytes > 0) fmt::print("\t{}", size_text(device.memory_bytes));
    if (!device.refusal.empty()) fmt::print("\tcannot be used: {}", device.refusal);
    fmt::print("\n");
  }
}

}  // namespace

Command add_devices(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  app.add_flag("--json", *as_json, "Print JSON");
  app.footer("Each with its memory, and the reason if it cannot be used.");
  return [as_json] {
    const std::vector<DeviceInfo> devices = device_list();
    *as_json ? print_as_json(devices) : print_as_text(devices);
    return kOk;
  };
}

}  // namespace pando::cli
