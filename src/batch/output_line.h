// One line of a batch's output.
#pragma once

#include <string>

#include "batch/input_line.h"

namespace pando {

// Without the end of line.
std::string output_line(const std::string& id_json, const BatchQuestion& question,
                        const Completion& completion);

}  // namespace pando
