// Bodies of Hugging Face's text-embeddings-inference, and their answers.
#include "ask/tei_body.h"

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "ask/door_body.h"
#include "ask/embedding.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

constexpr DoorField kTeiFields[] = {{"inputs", "input"},
                                    {"normalize", "normalize"},
                                    {"dimensions", "dimensions"},
                                    {"prompt_name", "input_type"},
                                    {"truncate"},
                                    {"truncation_direction"}};
// Fields of bodies that ask for results of tokens.
constexpr DoorField kTeiTokenFields[] = {
    {"inputs", "input"}, {"prompt_name", "input_type"}, {"truncate"}, {"truncation_direction"}};

class TeiBody : public DoorBody {
 public:
  using DoorBody::DoorBody;
  Json answer() override { return vectors(); }
};

// [[vector, ...], ...]: a vector for each token of each text.
class TeiTokensBody : public DoorBody {
 public:
  using DoorBody::DoorBody;
  Json answer() override {
    Json list = Json::array();
    for (const std::vector<Completion>& completion : completions().all())
      list.push_back(token_vectors_json(completion[0], form_.embed));
    return list;
  }
};

// [[{"index", "value"}, ...], ...]: the weights of the tokens of each text, by ascending id.
class TeiWeightsBody : public DoorBody {
 public:
  TeiWeightsBody(const BodyContext& context, ChatDraft draft)
      : DoorBody(context, std::move(draft)), model_(context.model) {}
  Json answer() override {
    Json list = Json::array();
    for (size_t i = 0; i < requests.size(); ++i) {
      Json values = Json::array();
      const auto weights =
          token_weights_of(completions().all()[i][0], form_.embed, model_, requests[i]);
      if (weights)  // the text has been encoded before
        for (const auto& [token, weight] : *weights)
          values.push_back({{"index", token}, {"value", weight}});
      list.push_back(std::move(values));
    }
    return list;
  }

 private:
  const Model& model_;  // lives as long as the server
};

const char* tei_type(int status) {
  switch (status) {
    case 429:
      return "Overloaded";
    case 503:
      return "Unhealthy";
    default:
      return status < 500 ? "Validation" : "Backend";
  }
}

Json tei_error(const HttpError& error) {
  return {{"error", error.message}, {"error_type", tei_type(error.status)}};
}

// Reads a body with these fields into a class that answers it.
template <class Made>
Result<std::unique_ptr<Body>> read_texts(const Json& json, std::span<const DoorField> table,
                                         const EmbedOptions& embed, const BodyContext& context) {
  DoorDraft door{.endpoint = Endpoint::kEmbeddings, .embed = embed};
  if (Status status = door.draft.copy(json, table); !status) return status.error();
  Fields fields(json);
  std::string side = "Right";
  bool at_end = true;
  fields.text("truncation_direction", side);
  const bool truncates = read_truncate(fields, at_end);
  if (side != "Right" && side != "right" && side != "Left" && side != "left")
    fields.fail("truncation_direction", side, "\"Right\" or \"Left\"");
  if (!fields.status()) return fields.status().error();
  const bool is_right = side == "Right" || side == "right";
  if (truncates) door.draft.chat["truncate"] = is_right && at_end ? "END" : "START";
  return read_door<Made>(std::move(door), context);
}

}  // namespace

Result<std::unique_ptr<Body>> read_tei_body(const Json& json, const BodyContext& context) {
  return read_texts<TeiBody>(json, kTeiFields, {}, context);
}

Result<std::unique_ptr<Body>> read_tei_tokens_body(const Json& json, const BodyContext& context) {
  EmbedOptions embed{.output = EmbedOutput::kTokens};
  // Does not normalise hidden states, because users pool them.
  if (const auto options = embed_options_for(context.model, embed);
      options && options->token_steps == nullptr)
    embed.normalise = false;
  return read_texts<TeiTokensBody>(json, kTeiTokenFields, embed, context);
}

Result<std::unique_ptr<Body>> read_tei_weights_body(const Json& json, const BodyContext& context) {
  return read_texts<TeiWeightsBody>(json, kTeiTokenFields, {.output = EmbedOutput::kWeights},
                                    context);
}

const ErrorForm kTeiErrors = {.body = tei_error, .last_events = [](const HttpError& error) {
                                return stream_event(tei_error(error));
                              }};

}  // namespace pando::ask
