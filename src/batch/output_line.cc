#include "batch/output_line.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace pando {

std::string output_line(const std::string& id_json, const BatchQuestion& question,
                        const Completion& completion) {
  using Json = nlohmann::ordered_json;
  Json line;
  line["id"] = Json::parse(id_json);
  if (question.id) line["question_id"] = Json::parse(question.id_json);
  if (question.request.sampling.n > 1) line["choice"] = completion.choice;
  line["text"] = completion.text;
  line["finish_reason"] = finish_reason_name(completion.finish_reason);
  line["prompt_tokens"] = completion.prompt_tokens;
  line["completion_tokens"] = completion.tokens.size();
  if (question.request.sampling.logprobs) line["logprobs"] = completion.logprobs;
  if (question.request.logits_hash)
    line["logits_hash"] = fmt::format("{:016x}", completion.logits_hash);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pando
