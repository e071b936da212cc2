// One line of a batch's output.
#pragma once

#include <string>

#include "batch/input_line.h"
#include "pando/model.h"

namespace pando {

// Without the end of line. `model` gives the text of single tokens.
std::string output_line(const std::string& id_json, const BatchQuestion& question,
                        const Completion& completion, const Model& model);

}  // namespace pando
