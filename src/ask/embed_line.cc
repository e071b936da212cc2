// Texts to be embedded.
#include <limits>
#include <memory>

#include "ask/embedding.h"
#include "ask/line.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {
namespace {

class EmbedLine : public TextLine {
  void add_results(const Completion& answer, const LineWriting& with, Json& output) const override {
    const EmbedOptions& embed = with.options.embed;
    if (embed.output == EmbedOutput::kVector)
      output["embedding"] = values_json(embedding_of(answer, embed));
    if (embed.output == EmbedOutput::kTokens)
      output["embeddings"] = token_vectors_json(answer, embed);
    if (embed.output != EmbedOutput::kWeights) return;
    output["weights"] = Json::array();
    const auto weights = token_weights_of(answer, embed, with.model, questions[0].request);
    if (!weights) return;  // the text has been encoded before
    for (const auto& [token, weight] : *weights) {
      const Result<std::string> text = with.model.piece(token);
      output["weights"].push_back(
          {{"token", token}, {"text", text ? *text : std::string()}, {"weight", weight}});
    }
  }
};

}  // namespace

Result<std::unique_ptr<Line>> read_embed_line(const Json& json, const LineContext& context) {
  constexpr std::string_view kFields[] = {"id",          "text",       "tokens",
                                          "instruction", "input_type", "metadata"};
  if (!context.embed) return context.embed.error();
  auto line = std::make_unique<EmbedLine>();
  if (Status status = begin_line(json, context, *line); !status) return status.error();
  EmbedOptions embed = *context.embed;
  Question question{.metadata = Json::object()};
  std::string text;
  std::vector<Token> tokens;
  Fields fields(json);
  only_without_answers(fields, kFields);
  read_metadata(fields, question.metadata);
  fields.text("text", text);
  fields.tokens("tokens", tokens);
  fields.text("instruction", embed.instruction);
  std::string input_type;
  fields.text("input_type", input_type);
  if (!fields.status()) return fields.status().error();
  if (fields.has("text") == fields.has("tokens"))
    return invalid_argument("the line has {}, expected either 'text' or 'tokens'",
                            found_text(json));
  for (const char* name : {"instruction", "input_type"})
    if (fields.has("tokens") && fields.has(name))
      return invalid_argument("field '{}' needs 'text', which the line does not have", name);
  if (fields.has("tokens")) embed.instruction.clear();
  if (!input_type.empty())
    if (Status status = take_prompt_for(input_type, embed); !status) return status.error();
  if (Status status = check_embed_options(embed, std::numeric_limits<int>::max()); !status)
    return status.error();
  if (text.empty() && tokens.empty())
    return invalid_argument("the text is empty, expected at least one token");
  question.request = embed_request(embed, text);
  if (!tokens.empty()) {  // token ids get no prompt and are not cut
    question.request.tokens = std::move(tokens);
    question.request.unpooled = {};
    question.request.truncate_prompt_tokens = 0;
  }
  line->ask(std::move(question));
  return std::unique_ptr<Line>(std::move(line));
}

}  // namespace pando::ask
