// Nouns for what a task works on and what it gives, in messages.
#pragma once

#include "base/counted.h"
#include "pando/batch.h"

namespace pando::cli {

struct TaskNouns {
  const char* inputs;    // these are asked
  const char* outputs;   // one comes of each
  const char* compared;  // --compare compares these
};

constexpr TaskNouns nouns_of(BatchTask task) {
  switch (task) {
    case BatchTask::kAnswer:
      break;
    case BatchTask::kEmbed:
      return {"texts", "vectors", "vectors"};
    case BatchTask::kRerank:
      return {"documents", "scores", "scores"};
    case BatchTask::kScore:
      return {"lines", "scored lines", "likelihoods"};
    case BatchTask::kClassify:
      return {"texts", "labelled texts", "scores"};
  }
  return {"questions", "answers", "answers"};
}

// Tells of an input without a record.
constexpr const char* no_records_text(InputFormat format) {
  return format == InputFormat::kJsonLines ? "the input has no lines" : "the input has no rows";
}

}  // namespace pando::cli
