// Embeddings of Ollama's API.
#include <memory>
#include <utility>

#include "ask/door_body.h"

namespace pando::ask {
namespace {

constexpr DoorField kOllamaEmbedFields[] = {{"input", "input"},
                                            {"dimensions", "dimensions"},
                                            {"truncate", "truncate"},
                                            {"options"},
                                            {"keep_alive"}};
constexpr DoorField kOllamaEmbeddingFields[] = {{"prompt", "input"}, {"options"}, {"keep_alive"}};

class OllamaVectors : public DoorBody {
 public:
  OllamaVectors(const BodyContext& context, ChatDraft draft, bool is_one)
      : DoorBody(context, std::move(draft)), is_one_(is_one) {}

  Json answer() override {
    Json json = Json::object();
    if (is_one_) {
      json["embedding"] = vectors()[0];
    } else {
      json = {{"model", envelope_.model},
              {"embeddings", vectors()},
              {"prompt_eval_count", n_of(&Completion::prompt_tokens, 1)}};
    }
    add_notes(json);
    return json;
  }

 private:
  const bool is_one_;  // the older form
};

}  // namespace

Result<std::unique_ptr<Body>> read_ollama_embed_body(const Json& json, const BodyContext& context) {
  DoorDraft door{.endpoint = Endpoint::kEmbeddings};
  if (Status status = door.draft.copy(json, kOllamaEmbedFields); !status) return status.error();
  if (!door.draft.chat.contains("truncate")) door.draft.chat["truncate"] = true;
  return read_door<OllamaVectors>(std::move(door), context, /*is_one=*/false);
}

Result<std::unique_ptr<Body>> read_ollama_embedding_body(const Json& json,
                                                         const BodyContext& context) {
  DoorDraft door{.endpoint = Endpoint::kEmbeddings};
  if (Status status = door.draft.copy(json, kOllamaEmbeddingFields); !status) return status.error();
  door.draft.chat["truncate"] = true;
  return read_door<OllamaVectors>(std::move(door), context, /*is_one=*/true);
}

}  // namespace pando::ask
