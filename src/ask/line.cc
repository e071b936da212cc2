#include "ask/line.h"

#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {
namespace {

// Whether a line is a whole SQuAD file: {"data": [{"paragraphs": [...]}, ...]}.
bool is_squad(const Json& json) {
  const auto data = json.find("data");
  return data != json.end() && data->is_array() && !data->empty() && (*data)[0].is_object() &&
         (*data)[0].contains("paragraphs");
}

// The error for a line that is a whole data set.
Error not_converted(BatchTask task) {
  constexpr const char* kText =
      "the line is a whole data set in SQuAD's format, expected {} (hint: "
      "`tools/dataset_to_jsonl.py squad FILE` makes {} from it)";
  const char* of_run = "lines for `pando run`";
  switch (task) {
    case BatchTask::kAnswer:
      break;
    case BatchTask::kEmbed:
      return invalid_argument(kText, "a 'text'", of_run);
    case BatchTask::kRerank:
      return invalid_argument(kText, "a 'query' with 'documents'", of_run);
    case BatchTask::kScore:
      return invalid_argument(kText, "a 'prompt' with 'continuations'", of_run);
  }
  return invalid_argument(kText, "a 'context' with 'questions'", "such lines");
}

}  // namespace

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
  }
  return read_answer_line;
}

Status begin_line(const Json& json, const LineContext& context, Job& job) {
  if (!json.is_object())
    return invalid_argument("the line is {}, expected an object", found_text(json));
  if (is_squad(json)) return not_converted(context.options.task);
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
  if (metadata.is_object()) out.update(sorted_json(metadata));
}

}  // namespace pando::ask
