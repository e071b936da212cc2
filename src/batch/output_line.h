// Lines of a batch's output, in Pando's own form.
#pragma once

#include <string>

#include "batch/input_line.h"
#include "pando/model.h"

namespace pando {

// `model` gives the text of single tokens.
nlohmann::ordered_json output_object(const BatchLine& line, const BatchQuestion& question,
                                     const Completion& completion, const Model& model);
// As its line, without the end.
std::string written(const nlohmann::ordered_json& object);

// The fields of ExtraFields that are wanted, into such an object.
void add_fields(const ExtraFields& wanted, const BatchLine& line, const BatchQuestion& question,
                const Completion& completion, const Model& model, nlohmann::ordered_json& object);

// The objects that output lines are.
Result<std::vector<nlohmann::json>> output_objects(std::string_view lines);

}  // namespace pando
