// One line of a batch's output, in Pando's own form.
#pragma once

#include <string>

#include "batch/input_line.h"
#include "pando/model.h"

namespace pando {

// `model` gives the text of single tokens.
nlohmann::ordered_json output_object(const BatchLine& line, const BatchQuestion& question,
                                     const Completion& completion, const Model& model);
// The same without the end of line.
std::string output_line(const BatchLine& line, const BatchQuestion& question,
                        const Completion& completion, const Model& model);

// The answers in lines that `output_line` made.
Result<std::vector<std::string>> answer_texts(std::string_view lines);

}  // namespace pando
