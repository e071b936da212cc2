// Questions about a context, and prompts, in Pando's own form: that of lines, of bodies of
// /v1/answers and of the options of the C functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ask/job.h"
#include "base/json.h"

namespace pando::ask {

// The object that its fields stand in.
struct QuestionSource {
  const Json& json;                                     // an object
  const char* name = "line";                            // messages call it so
  std::span<const std::string_view> other_fields = {};  // that others read
  // The expected fields, for the message about an unknown field if nothing is asked.
  std::string_view asking =
      "'context' with 'questions' or 'question', or one of 'prompt', 'messages' and 'tokens'";
};

// Input that stands beside the fields: questions about a context, a prompt, or tokens.
struct QuestionInput {
  std::optional<std::string> context;
  std::vector<std::string> questions = {};
  std::optional<std::string> prompt = {};
  std::vector<Token> tokens = {};
};

// kInvalidArgument for a field that is not of this form.
Status check_question_fields(const QuestionSource& source);

// Adds the questions to a job whose id and default options are set. kInvalidArgument names field,
// found and expected.
Status read_questions(const QuestionSource& source, Job& job);
// Does the same where the source has options alone.
Status read_options(const QuestionSource& source, QuestionInput given, Job& job);

}  // namespace pando::ask
