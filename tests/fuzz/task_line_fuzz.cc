// A line of texts to embed, documents to rank, or continuations to score.
#include "base/json.h"
#include "batch/task_lines.h"
#include "fuzz/fuzz.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<nlohmann::json> json = parse_json(fuzz::text_of(data, size));
  if (!json) return 0;
  using Read = Result<BatchLine> (*)(const nlohmann::json& json);
  const Read all[] = {
      [](const nlohmann::json& json) { return read_embed_line(json, 7, {}, {}); },
      [](const nlohmann::json& json) { return read_rerank_line(json, 7, {}); },
      [](const nlohmann::json& json) { return read_score_line(json, 7, {}); },
  };
  for (const Read read : all) {
    const Result<BatchLine> line = read(*json);
    if (!line) {
      fuzz::check_error(line.error());
      continue;
    }
    fuzz::demand(parse_json(line->id_json).ok(), "an id that is no JSON");
    fuzz::demand(!line->questions.empty(), "a line that asks nothing");
    for (const BatchQuestion& question : line->questions) {
      const Request request = request_of(*line, question);
      fuzz::demand(!find_invalid_utf8(request.prompt), "a prompt that is not UTF-8");
      fuzz::demand(question.prefixes.empty() || question.prefixes.size() == question.choices.size(),
                   "continuations without their prompts");
      fuzz::demand(!question.choices.empty() || request.pooling != Pooling::kNone,
                   "a question that wants nothing");
    }
  }
  return 0;
}
