// Values of EngineOptions::sharing: the engine's planners, and those that were added to them.
#pragma once

#include <string>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// Properties of a way of sharing.
struct SharingInfo {
  std::string name;  // without its options
  // The bits do not depend on what else is asked; otherwise they are right to rounding.
  bool exact = true;
  std::string warning;   // text to show wherever its answers appear; empty: none
  bool batches = false;  // puts whole waiting prompts together in batches
};

// NAME, or NAME:OPTION,OPTION=VALUE,... (page "Techniques of sharing"). Errors: kInvalidArgument.
Result<SharingInfo> sharing_info(const std::string& sharing);

// The names there are.
std::vector<std::string> sharing_names();

}  // namespace pando
