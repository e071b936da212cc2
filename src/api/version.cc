#include "pando/version.h"

#include <fstream>

#include "generated/commit.h"

namespace pando {

const char* version() { return PANDO_VERSION; }
const char* build_commit() { return PANDO_COMMIT; }

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

}  // namespace pando
