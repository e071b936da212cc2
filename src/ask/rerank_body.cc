// Relevance of documents to a query, in the forms of Jina, Cohere and TEI.
#include <algorithm>
#include <cmath>
#include <memory>

#include "ask/chat_fields.h"
#include "ask/errors.h"
#include "ask/pairs.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/json.h"
#include "task/cut_text.h"
#include "text/chat/media.h"

namespace pando::ask {
namespace {

// The answer has one of these forms.
enum class RankingForm {
  kResults,  // {"id", "model", "results", "usage"}, as from Jina and vLLM
  kCohere,   // {"id", "results", "meta"}
  kList,     // [{"index", "score"}, ...], as from TEI
};

struct RankingAsked {
  RankingForm form = RankingForm::kResults;
  const char* list_name = "documents";
  RerankOptions options;
  bool has_instruction = false;  // of its own
  std::string query;
  std::vector<std::string> texts;
  std::vector<Json> returned;  // documents as they are returned; none: they are not
  int top = 0;                 // 0: all
  int most_tokens = 0;         // of a document; 0: all
  int most_query_tokens = 0;   // 0: no limit
  bool truncates = false;      // documents whose prompt is too long are cut
  bool truncates_at_end = true;
  bool as_logit = false;  // ln(p / (1 - p)) of each relevance p
};

double logit_of(const PairScore& score) {
  if (!score.mass) return score.logit;
  // The logit of 0 or 1 has no number in JSON.
  const double p = std::clamp(score.relevance, 0x1p-1022, 1 - 0x1p-53);
  return std::log(p) - std::log1p(-p);
}

class RerankBody : public PairsBody {
 public:
  RerankBody(const BodyContext& context, RankingAsked asked)
      : PairsBody(context), asked_(std::move(asked)) {
    has_instruction = asked_.has_instruction;
  }

  Status add_all(const BodyContext& context) {
    if (asked_.most_query_tokens > 0)
      asked_.query = cut_text(context.model, asked_.query,
                              static_cast<size_t>(asked_.most_query_tokens), /*at_end=*/true);
    for (std::string& text : asked_.texts) {
      if (asked_.most_tokens > 0)
        text = cut_text(context.model, text, static_cast<size_t>(asked_.most_tokens),
                        /*at_end=*/true);
      if (Status status = asked_.truncates ? add_cut(context, text) : add_whole(context, text);
          !status)
        return status;
    }
    return {};
  }

  std::string place(size_t request) const override {
    if (longest(request) == Text::kInstruction) return "instruction";
    return longest(request) == Text::kQuery ? "query"
                                            : place_in(asked_.list_name, pair_of(request));
  }

  Json answer() override {
    const std::vector<PairScore> scores = pair_scores(asked_.options, completions().all());
    std::vector<double> relevances;
    for (const PairScore& score : scores) relevances.push_back(score.relevance);
    std::vector<size_t> order = ranking(relevances);
    if (asked_.top > 0) order.resize(std::min(order.size(), static_cast<size_t>(asked_.top)));
    const bool is_list = asked_.form == RankingForm::kList;
    if (is_list &&
        asked_.options.classifier)  // TEI has probabilities, whatever the model's files say
      for (size_t i = 0; i < relevances.size(); ++i)
        relevances[i] = 1 / (1 + std::exp(-scores[i].logit));
    Json results = Json::array();
    for (const size_t i : order) {
      Json result = {{"index", i}};
      result[is_list ? "score" : "relevance_score"] =
          asked_.as_logit ? logit_of(scores[i]) : relevances[i];
      if (!is_list && scores[i].mass) result["mass"] = *scores[i].mass;
      if (!asked_.returned.empty())
        result[is_list ? "text" : "document"] = std::move(asked_.returned[i]);
      results.push_back(std::move(result));
    }
    if (is_list) return results;
    Json body = {{"id", "rerank-" + envelope_.id}};
    if (asked_.form == RankingForm::kCohere) {
      body["results"] = std::move(results);
      body["meta"] = {
          {"api_version", {{"version", "2"}}},
          {"billed_units", {{"search_units", 0}}},
          {"tokens",
           {{"input_tokens", n_of(&Completion::prompt_tokens, requests_of_pair(asked_.options))}}}};
      if (const uint64_t n_cut = n_of(&Completion::cut_tokens, requests_of_pair(asked_.options));
          n_cut > 0)
        body["meta"]["tokens"]["cut_tokens"] = n_cut;
      return body;
    }
    body["model"] = envelope_.model;
    body["results"] = std::move(results);
    add_prompt_usage(body, requests_of_pair(asked_.options));
    return body;
  }

 private:
  Status add_whole(const BodyContext& context, const std::string& text) {
    return add_pair(context, asked_.options, asked_.query, text);
  }

  // Adds a text, and less of it where its prompt is longer than the context.
  Status add_cut(const BodyContext& context, std::string text) {
    if (asked_.options.classifier) return add_whole(context, text);  // it cuts pairs itself
    const Result<size_t> n = n_tokens(context.model, text);
    if (!n) return blame(asked_.list_name, n.error());
    for (size_t n_left = *n; n_left > 0;) {
      const Result<size_t> n_prompt =
          n_tokens(context.model, rerank_prompt(asked_.options, asked_.query, text));
      if (!n_prompt) return n_prompt.error();
      const auto most = static_cast<size_t>(context.context) - kAround;
      if (*n_prompt <= most) break;
      n_left -= std::min(n_left, *n_prompt - most);
      text = cut_text(context.model, text, n_left, asked_.truncates_at_end);
    }
    return add_whole(context, text);
  }

  static constexpr size_t kAround = 4;  // tokens of the answer, and around the text

  RankingAsked asked_;
};

// A text, or an object with one and whatever else.
Result<std::string> read_document(const Json& json, const char* name, size_t index) {
  if (json.is_string()) return json.get<std::string>();
  std::string text;
  if (json.is_object()) {
    Fields fields(json);
    fields.text("text", text);
    if (!fields.status()) return in_part(place_in(name, index), fields.status().error());
    if (fields.has("text")) return text;
    if (Status status = refuse_media(json, fmt::format("document {}", index)); !status)
      return in_part(place_in(name, index), status.error());
  }
  return blame(place_in(name, index),
               invalid_argument("document {} is {}, expected a string or {{\"text\": \"...\"}}",
                                index, found_text(json)));
}

Result<std::unique_ptr<Body>> read_ranking(const Json& json, const BodyContext& context,
                                           Fields& fields, RankingAsked asked, bool returns) {
  const ServingFields serving = read_serving_fields(fields);
  fields.text("query", asked.query);
  Result<RerankOptions> options = read_rerank_options(fields, context.model, asked.has_instruction);
  bool at_end = true;
  asked.truncates = read_truncate(fields, at_end);
  asked.truncates_at_end = asked.truncates_at_end && at_end;
  if (!fields.status()) return fields.status().error();
  if (!options) return options.error();
  asked.options = std::move(*options);
  if (asked.truncates && asked.options.classifier) {
    ClassifyOptions& classifier = *asked.options.classifier;
    classifier.max_tokens = std::min(classifier.max_tokens, context.context);
    if (!asked.truncates_at_end) classifier.cut_at_end = false;
  }
  for (const char* name : {"query", asked.list_name})
    if (!fields.has(name)) return missing_field(name);
  if (asked.query.empty())
    return invalid_field("query", "is empty, expected at least one character");
  const Json& documents = json[asked.list_name];
  if (!documents.is_array() || documents.empty())
    return invalid_field(asked.list_name, "is {}, expected a non-empty list",
                         found_text(documents));
  if (Status status =
          check_count(asked.list_name, documents.size(), requests_of_pair(asked.options));
      !status)
    return status.error();
  for (size_t i = 0; i < documents.size(); ++i) {
    Result<std::string> text = read_document(documents[i], asked.list_name, i);
    if (!text) return text.error();
    asked.texts.push_back(std::move(*text));
  }
  if (returns) {
    for (size_t i = 0; i < documents.size(); ++i) {
      const bool is_wrapped = asked.form != RankingForm::kList && documents[i].is_string();
      asked.returned.push_back(is_wrapped ? Json{{"text", documents[i]}} : documents[i]);
    }
  }
  if (Status status = check_pairs(asked.query, asked.texts, asked.options, context.bounds); !status)
    return status.error();
  auto body = std::make_unique<RerankBody>(context, std::move(asked));
  body->serving = serving;
  if (Status status = body->add_all(context); !status) return status.error();
  return std::unique_ptr<Body>(std::move(body));
}

Result<std::unique_ptr<Body>> read_documents_body(const Json& json, const BodyContext& context,
                                                  RankingForm form) {
  Fields fields(json);
  RankingAsked asked{.form = form};
  bool returns = false;
  std::vector<std::string> rank_fields = {"text"};
  fields.integer("top_n", asked.top);
  fields.flag("return_documents", returns);
  fields.integer("max_tokens_per_doc", asked.most_tokens);
  fields.integer("max_tokens_per_query", asked.most_query_tokens);
  fields.text_list("rank_fields", rank_fields);
  refuse_other_fields(fields,
                      std::initializer_list<std::string_view>{
                          "query", "documents", "instruction", "top_n", "return_documents",
                          "max_tokens_per_doc", "max_tokens_per_query", "rank_fields", "truncate"});
  if (rank_fields != std::vector<std::string>{"text"})
    fields.fail("rank_fields", json["rank_fields"], "[\"text\"]");
  for (const auto& [name, n] : {std::pair{"top_n", asked.top},
                                {"max_tokens_per_doc", asked.most_tokens},
                                {"max_tokens_per_query", asked.most_query_tokens}})
    if (fields.has(name) && n < 1) fields.fail(name, n, "1 or more");
  return read_ranking(json, context, fields, std::move(asked), returns);
}

// The form of Hugging Face's text-embeddings-inference.
Result<std::unique_ptr<Body>> read_texts_body(const Json& json, const BodyContext& context) {
  Fields fields(json);
  RankingAsked asked{.form = RankingForm::kList, .list_name = "texts"};
  bool returns = false;
  std::string side = "Right";
  fields.flag("return_text", returns);
  fields.flag("raw_scores", asked.as_logit);
  fields.integer("top_n", asked.top);  // of litellm
  if (fields.has("top_n") && asked.top < 1) fields.fail("top_n", asked.top, "1 or more");
  fields.text("truncation_direction", side);
  refuse_other_fields(fields, std::initializer_list<std::string_view>{
                                  "query", "texts", "instruction", "return_text", "raw_scores",
                                  "top_n", "truncate", "truncation_direction"});
  if (side != "Right" && side != "right" && side != "Left" && side != "left")
    fields.fail("truncation_direction", side, "\"Right\" or \"Left\"");
  asked.truncates_at_end = side == "Right" || side == "right";
  return read_ranking(json, context, fields, std::move(asked), returns);
}

}  // namespace

Result<std::unique_ptr<Body>> read_rerank_body(const Json& json, const BodyContext& context) {
  const Fields fields(json);
  const bool is_list = fields.has("texts") && !fields.has("documents");
  return is_list ? read_texts_body(json, context)
                 : read_documents_body(json, context, RankingForm::kResults);
}

Result<std::unique_ptr<Body>> read_cohere_rerank_body(const Json& json,
                                                      const BodyContext& context) {
  return read_documents_body(json, context, RankingForm::kCohere);
}

}  // namespace pando::ask
