// Answers as lines and bodies of Pando's own form have them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ask/job.h"
#include "pando/model.h"

namespace pando::ask {

// `model` gives the text of single tokens.
nlohmann::ordered_json answer_object(const Job& job, const Question& question,
                                     const Completion& completion, const Model& model);

}  // namespace pando::ask
