// Embeddings of Cohere's API, version 2.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ask/door_body.h"
#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

constexpr DoorField kCohereEmbedFields[] = {{"texts", "input"},
                                            {"input_type", "input_type"},
                                            {"output_dimension", "dimensions"},
                                            {"max_tokens", "truncate_prompt_tokens"},
                                            {"truncate", "truncate"},
                                            {"embedding_types"}};

class CohereEmbedBody : public DoorBody {
 public:
  CohereEmbedBody(const BodyContext& context, ChatDraft draft, std::vector<std::string> types,
                  Json texts)
      : DoorBody(context, std::move(draft)), types_(std::move(types)), texts_(std::move(texts)) {}

  Json answer() override {
    Json embeddings = Json::object();
    for (const std::string& type : types_) {
      form_.base64 = type == "base64";
      embeddings[type] = vectors();
    }
    const uint64_t n_tokens = n_of(&Completion::prompt_tokens, 1);
    Json json = {{"id", envelope_.id},
                 {"response_type", "embeddings_by_type"},
                 {"embeddings", std::move(embeddings)},
                 {"texts", std::move(texts_)},
                 {"meta",
                  {{"api_version", {{"version", "2"}}},
                   {"billed_units", {{"input_tokens", n_tokens}}},
                   {"tokens", {{"input_tokens", n_tokens}}}}}};
    if (const uint64_t n_cut = n_of(&Completion::cut_tokens, 1); n_cut > 0)
      json["meta"]["tokens"]["cut_tokens"] = n_cut;
    add_notes(json);
    return json;
  }

 private:
  const std::vector<std::string> types_;  // of the vectors' values
  Json texts_;                            // as asked
};

}  // namespace

Result<std::unique_ptr<Body>> read_cohere_embed_body(const Json& json, const BodyContext& context) {
  DoorDraft door{.endpoint = Endpoint::kEmbeddings};
  if (Status status = door.draft.copy(json, kCohereEmbedFields); !status) return status.error();
  Fields fields(json);
  std::vector<std::string> types = {"float"}, texts;
  fields.text_list("embedding_types", types);
  fields.text_list("texts", texts);
  const bool are_known = std::ranges::all_of(
      types, [](const std::string& type) { return type == "float" || type == "base64"; });
  if (types.empty() || !are_known)
    fields.fail("embedding_types", json["embedding_types"], "a list of \"float\" or \"base64\"");
  if (!fields.status()) return fields.status().error();
  if (!fields.has("truncate")) door.draft.chat["truncate"] = "END";  // as Cohere's API does
  return read_door<CohereEmbedBody>(std::move(door), context, std::move(types), Json(texts));
}

}  // namespace pando::ask
