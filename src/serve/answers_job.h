// /v1/answers: all questions about one document.
#pragma once

#include "openai/job.h"

namespace pando::serve {

// {"context", "questions": [...], "instruction"?, "template"?, "choices"?, "chat"?, "stream"?,
// ...}: a line of `pando run` with a context, and answers as that writes them.
openai::MakeJob make_answers_job;

}  // namespace pando::serve
