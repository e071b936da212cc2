// Texts to be embedded.
#include <limits>

#include "base/errors.h"
#include "base/json.h"
#include "batch/line_head.h"
#include "batch/task_lines.h"
#include "openai/logprobs.h"

namespace pando {

Result<BatchLine> read_embed_line(const nlohmann::json& json, uint64_t line_number,
                                  EmbedOptions embed, const AnswerOptions& defaults) {
  constexpr std::string_view kFields[] = {"id", "text", "tokens", "instruction", "metadata"};
  if (!json.is_object())
    return invalid_argument("the line is {}, expected an object", found_text(json));
  Result<BatchLine> line = begin_line(json, line_number, defaults);
  if (!line) return line.error();
  line->form = LineForm::kEmbed;
  BatchQuestion question{.metadata = nlohmann::json::object()};
  std::string text;
  std::vector<Token> tokens;
  Fields fields(json);
  fields.only(kFields);
  read_metadata(fields, question.metadata);
  fields.text("text", text);
  fields.tokens("tokens", tokens);
  fields.text("instruction", embed.instruction);
  if (!fields.status()) return fields.status().error();
  if (fields.has("text") == fields.has("tokens"))
    return invalid_argument("the line has {}, expected either 'text' or 'tokens'",
                            found_text(json));
  if (fields.has("tokens") && fields.has("instruction"))
    return invalid_argument("field 'instruction' goes with 'text', which the line does not have");
  if (fields.has("tokens")) embed.instruction.clear();
  if (Status status = check_embed_options(embed, std::numeric_limits<int>::max()); !status)
    return status.error();
  if (text.empty() && tokens.empty())
    return invalid_argument("the text is empty, expected one token at least");
  question.request = embed_request(embed, text);
  question.request.tokens = std::move(tokens);
  question.request.sampling.max_tokens = 1;  // needs no more room than the prompt
  question.request.id = line->id;
  question.request.logits_hash = defaults.logits_hash;
  line->questions.push_back(std::move(question));
  return line;
}

std::string embed_output(const BatchLine& line, const Completion& answer,
                         const EmbedOptions& options) {
  const BatchQuestion& question = line.questions[0];
  nlohmann::ordered_json output;
  output["id"] = id_value(line.id_json);
  if (!line.warning.empty()) output["wrong"] = line.warning;
  for (const float value : embedding_of(answer, options))
    output["embedding"].push_back(openai::printed(value));
  output["prompt_tokens"] = answer.prompt_tokens;
  if (!question.metadata.empty()) output["metadata"] = question.metadata;
  return json_text(output);
}

}  // namespace pando
