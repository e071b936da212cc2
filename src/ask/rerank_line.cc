// Documents to be ranked for a query.
#include <algorithm>
#include <memory>

#include "ask/line.h"
#include "ask/pairs.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/json.h"
#include "pando/trec.h"
#include "text/chat/media.h"

namespace pando::ask {
namespace {

Result<std::string> read_document(const Json& json, size_t index, Question& question) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object())
    return invalid_argument("document {} is {}, expected a string or an object", index,
                            found_text(json));
  if (Status status = refuse_media(json, fmt::format("document {}", index)); !status)
    return status.error();
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
    question.id_json = json["id"];
  }
  return text;
}

PairScore score_of(const RerankOptions& options, const Completion& answer) {
  if (options.classifier) return pair_score(*options.classifier, answer);
  return pair_score(answer.choice_logprobs[0], answer.choice_logprobs[1]);
}

class RerankLine : public Line {
 public:
  std::vector<Json> written(const Answered& answered, const LineWriting& with) const override {
    if (answered.error != nullptr) return {};
    std::vector<double> scores, masses;
    int64_t n_tokens = 0, n_cut = 0;
    for (const std::vector<Completion>& answer : answered.answers) {
      const PairScore score = score_of(with.options.rerank, answer[0]);
      scores.push_back(score.relevance);
      if (score.mass) masses.push_back(*score.mass);
      n_tokens += answer[0].prompt_tokens;
      n_cut += answer[0].cut_tokens;
    }
    std::vector<size_t> order = ranking(scores);
    if (with.options.top > 0)
      order.resize(std::min(order.size(), static_cast<size_t>(with.options.top)));
    Json output;
    output["id"] = id_json;
    if (!warning.empty()) output["wrong"] = warning;
    Json results = Json::array();
    for (const size_t i : order) {
      Json result = {{"index", i}};
      if (questions[i].id) result["id"] = questions[i].id_json;
      result["score"] = scores[i];
      if (!masses.empty()) result["mass"] = masses[i];
      results.push_back(std::move(result));
    }
    output["results"] = std::move(results);
    output["prompt_tokens"] = n_tokens;
    if (n_cut > 0) output["cut_tokens"] = n_cut;
    if (!questions[0].metadata.empty()) output["metadata"] = questions[0].metadata;
    return one_object(std::move(output));
  }

  void count(const Completion& completion, BatchSummary& summary) const override {
    const std::vector<double>& logprobs = completion.choice_logprobs;
    if (logprobs.empty()) return;  // of a classifier
    const double mass = mass_of_answers(logprobs[0], logprobs[1]);
    summary.mass_sum += mass;
    ++summary.n_masses;
    summary.least_mass = std::min(summary.least_mass, mass);
  }
};

}  // namespace

Result<std::unique_ptr<Line>> read_rerank_line(const Json& json, const LineContext& context) {
  constexpr std::string_view kFields[] = {"id", "query", "documents", "instruction", "metadata"};
  auto line = std::make_unique<RerankLine>();
  if (Status status = begin_line(json, context, *line); !status) return status.error();
  RerankOptions rerank = context.options.rerank;
  std::string query;
  Json metadata = Json::object();
  Fields fields(json);
  only_without_answers(fields, kFields);
  read_metadata(fields, metadata);
  fields.text("query", query);
  std::string instruction;
  fields.text("instruction", instruction);
  if (fields.has("instruction")) rerank.instruction = std::move(instruction);
  if (!fields.status()) return fields.status().error();
  for (const char* name : {"query", "documents"})
    if (!fields.has(name)) return invalid_argument("the line has no '{}'", name);
  const Json& documents = fields["documents"];
  if (!documents.is_array() || documents.empty())
    return invalid_argument("field 'documents' is {}, expected a non-empty list",
                            found_text(documents));
  for (size_t i = 0; i < documents.size(); ++i) {
    Question named;
    const Result<std::string> document = read_document(documents[i], i, named);
    if (!document) return in_part(place_in("documents", i), document.error());
    Question question = pair_question(rerank, query, *document);
    question.index = i;
    question.id = std::move(named.id);
    question.id_json = std::move(named.id_json);
    question.metadata = metadata;
    question.request.id = line->id + "/" + question.id.value_or(std::to_string(i));
    question.request.logits_hash = line->options.logits_hash;
    line->questions.push_back(std::move(question));
  }
  return std::unique_ptr<Line>(std::move(line));
}

Status check_trec_ids(const Line& line) {
  std::vector<std::string> documents;
  for (const Question& document : line.questions)
    documents.push_back(document.id.value_or(std::to_string(document.index)));
  return check_run_ids(line.id, documents);
}

}  // namespace pando::ask
