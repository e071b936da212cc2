// Answers as lines and bodies of Pando's own form have them.
#pragma once

#include <string>

#include "ask/job.h"
#include "base/json.h"
#include "pando/model.h"

namespace pando::ask {

// `model` gives the text of single tokens.
Json answer_object(const Job& job, const Question& question, const Completion& completion,
                   const Model& model);

}  // namespace pando::ask
