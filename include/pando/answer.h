// The main job: many questions about one shared context.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/engine.h"

namespace pando {

// Options of how questions are asked and answers drawn.
struct AnswerOptions {
  std::string instruction;  // put before the context; with `chat` the system message; may be empty
  // The prompt, with {instruction}, {context} and {question} replaced by their texts verbatim. The
  // text before {question} is computed once for all questions. Absent: the default.
  std::optional<std::string> prompt_template;
  SamplingOptions sampling;  // how answers are drawn and reported
  // If given, the answer is the likeliest of these texts behind the prompt. A text gets a space in
  // front unless it or the prompt brings one. Nothing is generated.
  std::vector<std::string> choices;
  std::optional<bool> add_special_tokens;  // Request::add_special_tokens
  bool prompt_logprobs = false;            // report ln p of the prompt's tokens
  bool logits_hash = false;                // hash the logits that answers were drawn from
  // Each question is asked as a conversation, rendered by the model's chat template: the prompt
  // without its instruction is the user's message.
  bool chat = false;
  ChatOptions chat_options;  // of conversations

  // The template in use: prompt_template or the default.
  std::string template_text() const;
  // The context, an empty line, "Question: {question}", and "Answer:" on the next line; before them
  // the instruction and an empty line, where there is one.
  static std::string default_prompt_template(bool has_instruction);
};

// The request for one question; without an id.
Request question_request(const AnswerOptions& options, const std::string& context,
                         const std::string& question);

// kInvalidArgument if the template has no {question}.
Status check_template(const AnswerOptions& options);

// Refuses options with which the model's chat template cannot render a question. Without `chat`
// the template is not used. A question may add tools or documents.
// Errors: as Model::render_chat.
Status check_chat(const Model& model, const AnswerOptions& options);

// The prompt of one question, asked without chat.
std::string render_prompt(const AnswerOptions& options, const std::string& context,
                          const std::string& question);

// Answers all questions together and waits for them. Result [questions][n], in order. The id of
// question i is its index as a string: sampling without a seed draws alike for every context. The
// first error ends the call, one of check_template before anything is asked. Any thread, also
// several at once: they share as one call does.
Result<std::vector<std::vector<Completion>>> answer(Engine& engine, const std::string& context,
                                                    const std::vector<std::string>& questions,
                                                    const AnswerOptions& options = {});

}  // namespace pando
