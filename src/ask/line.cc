#include "ask/line.h"

#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {
std::vector<Json> one_object(Json object) {
  std::vector<Json> objects;
  objects.push_back(std::move(object));
  return objects;
}

ReadLine* line_reader(BatchTask task) {
  switch (task) {
    case BatchTask::kAnswer:
      break;
    case BatchTask::kEmbed:
      return read_embed_line;
    case BatchTask::kRerank:
      return read_rerank_line;
    case BatchTask::kScore:
      return read_score_line;
    case BatchTask::kClassify:
      return read_classify_line;
  }
  return read_answer_line;
}

std::vector<Json> TextLine::written(const Answered& answered, const LineWriting& with) const {
  if (answered.error != nullptr) return {};
  const Completion& answer = answered.answers[0][0];
  Json output;
  output["id"] = id_json;
  if (!warning.empty()) output["wrong"] = warning;
  add_results(answer, with, output);
  output["prompt_tokens"] = answer.prompt_tokens;
  if (answer.cut_tokens > 0) output["cut_tokens"] = answer.cut_tokens;
  if (!questions[0].metadata.empty()) output["metadata"] = questions[0].metadata;
  return one_object(std::move(output));
}

void TextLine::ask(Question question) {
  question.request.sampling.max_tokens = 1;  // needs no more room than the prompt
  question.request.id = id;
  question.request.logits_hash = options.logits_hash;
  questions.push_back(std::move(question));
}

Status begin_line(const Json& json, const LineContext& context, Job& job) {
  if (!json.is_object())
    return invalid_argument("the line is {}, expected an object", found_text(json));
  job.id = std::to_string(context.number);
  job.id_json = job.id;
  job.options = context.options.defaults;
  if (!Fields(json).has("id")) return {};
  Result<std::string> id = read_id(json, "line");
  if (!id) return id.error();
  job.id = std::move(*id);
  job.id_json = json["id"];
  return {};
}

Result<std::string> read_id(const Json& object, const char* what) {
  const Json& id = object["id"];
  if (id.is_string()) return id.get<std::string>();
  if (id.is_number_integer() || !kept_digits(id).empty()) return json_text(id);
  return invalid_field("id", "of the {} is {}, expected a string or an integer", what,
                       found_text(id));
}

void read_metadata(Fields& fields, Json& out) {
  Json metadata;
  fields.object("metadata", metadata);
  if (!metadata.is_object()) return;
  if (out.empty())
    out = sorted_json(metadata);
  else
    out.update(sorted_json(metadata));
}

}  // namespace pando::ask
