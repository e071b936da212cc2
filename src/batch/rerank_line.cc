// Documents to be ranked for a query.
#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "base/json.h"
#include "batch/line_head.h"
#include "batch/task_lines.h"
#include "pando/trec.h"

namespace pando {
namespace {

using Json = nlohmann::json;

Result<std::string> read_document(const Json& json, size_t index, BatchQuestion& question) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object())
    return invalid_argument("document {} is {}, expected a string or an object", index,
                            found_text(json));
  constexpr std::string_view kFields[] = {"id", "text"};
  std::string text;
  Fields fields(json);
  fields.only(kFields);
  fields.text("text", text);
  if (!fields.status()) return fields.status().error();
  if (!fields.has("text")) return invalid_argument("document {} has no 'text'", index);
  if (fields.has("id")) {
    Result<std::string> id = read_id(json, "document");
    if (!id) return id.error();
    question.id = std::move(*id);
    question.id_json = json_text(json["id"]);
  }
  return text;
}

}  // namespace

Result<BatchLine> read_rerank_line(const Json& json, uint64_t line_number,
                                   const BatchOptions& options) {
  constexpr std::string_view kFields[] = {"id", "query", "documents", "instruction", "metadata"};
  if (!json.is_object())
    return invalid_argument("the line is {}, expected an object", found_text(json));
  Result<BatchLine> line = begin_line(json, line_number, options.defaults);
  if (!line) return line.error();
  line->form = LineForm::kRerank;
  RerankOptions rerank = options.rerank;
  nlohmann::ordered_json metadata = Json::object();
  Fields fields(json);
  fields.only(kFields);
  read_metadata(fields, metadata);
  fields.text("query", line->query);
  fields.text("instruction", rerank.instruction);
  if (!fields.status()) return fields.status().error();
  for (const char* name : {"query", "documents"})
    if (!fields.has(name)) return invalid_argument("the line has no '{}'", name);
  const Json& documents = fields["documents"];
  if (!documents.is_array() || documents.empty())
    return invalid_argument("field 'documents' is {}, expected a list of one or more",
                            found_text(documents));
  for (size_t i = 0; i < documents.size(); ++i) {
    BatchQuestion question{.index = i, .metadata = metadata};
    const Result<std::string> document = read_document(documents[i], i, question);
    if (!document) return document.error();
    question.request.prompt = rerank_prompt(rerank, line->query, *document);
    question.as_given = true;
    question.choices = {rerank.yes, rerank.no};
    question.request.id = line->id + "/" + question.id.value_or(std::to_string(i));
    question.request.logits_hash = options.defaults.logits_hash;
    line->questions.push_back(std::move(question));
  }
  return line;
}

Status check_trec_ids(const BatchLine& line) {
  std::vector<std::string> documents;
  for (const BatchQuestion& document : line.questions)
    documents.push_back(document.id.value_or(std::to_string(document.index)));
  return check_run_ids(line.id, documents);
}

double mass_of_answers(const std::vector<double>& logprobs) {
  return std::exp(logprobs[0]) + std::exp(logprobs[1]);
}

std::string rerank_output(const BatchLine& line,
                          const std::vector<std::vector<Completion>>& answers, int top) {
  std::vector<double> scores, masses;
  int64_t n_tokens = 0;
  for (const std::vector<Completion>& answer : answers) {
    const std::vector<double>& logprobs = answer[0].choice_logprobs;
    scores.push_back(share_of_yes(logprobs[0], logprobs[1]));
    masses.push_back(mass_of_answers(logprobs));
    n_tokens += answer[0].prompt_tokens;
  }
  std::vector<size_t> order = ranking(scores);
  if (top > 0) order.resize(std::min(order.size(), static_cast<size_t>(top)));
  nlohmann::ordered_json output;
  output["id"] = id_value(line.id_json);
  if (!line.warning.empty()) output["wrong"] = line.warning;
  output["results"] = Json::array();
  for (const size_t i : order) {
    nlohmann::ordered_json result = {{"index", i}};
    if (line.questions[i].id) result["id"] = id_value(line.questions[i].id_json);
    result["score"] = scores[i];
    result["mass"] = masses[i];
    output["results"].push_back(std::move(result));
  }
  output["prompt_tokens"] = n_tokens;
  if (!line.questions[0].metadata.empty()) output["metadata"] = line.questions[0].metadata;
  return json_text(output);
}

}  // namespace pando
