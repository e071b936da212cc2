// Jobs that generate nothing: relevance of documents, scores of pairs and of continuations.
#include <algorithm>
#include <iterator>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "openai/errors.h"
#include "openai/job.h"
#include "pando/rerank.h"
#include "pando/score.h"

namespace pando::openai {
namespace {

using OrderedJson = nlohmann::ordered_json;

// What all of them have.
class RankingJob : public Job {
 public:
  RankingJob(const JobContext& context, bool with_sharing, bool is_cached)
      : envelope_(context.envelope), with_sharing_(with_sharing) {
    cached = is_cached;
  }

 protected:
  // `n_alike` in a row of what was asked have one prompt.
  void add_usage(OrderedJson& body, const Completions& completions, size_t n_alike) const {
    uint64_t n_tokens = 0;
    size_t n_asked = 0;
    for (const std::vector<Completion>& completion : completions)
      for (size_t i = 0; i <= completion[0].alternatives.size(); ++i)
        if (n_asked++ % n_alike == 0)
          n_tokens += static_cast<uint64_t>(completion[0].prompt_tokens);
    body["usage"] = {{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}};
    if (with_sharing_) body["sharing"] = sharing(completions);
  }

  Envelope envelope_;

 private:
  bool with_sharing_;
};

// A yes and a no for each pair of texts.
class PairsJob : public RankingJob {
 public:
  using RankingJob::RankingJob;

  Status add(const JobContext& context, const RerankOptions& options, std::string_view query,
             std::string_view document) {
    if (context.given_up()) return given_up();
    auto of_pair = rerank_requests(context.model, options, query, document);
    if (!of_pair) return of_pair.error();
    pair_of_.insert(pair_of_.end(), of_pair->size(), longest_.size());
    std::move(of_pair->begin(), of_pair->end(), std::back_inserter(requests));
    const size_t n_longer = std::max(query.size(), document.size());
    const bool is_given = options.instruction != RerankOptions::default_instruction();
    Text blamed = query.size() > document.size() ? Text::kQuery : Text::kDocument;
    if (is_given && options.instruction.size() > n_longer) blamed = Text::kInstruction;
    longest_.push_back(blamed);
    return {};
  }

 protected:
  enum class Text { kInstruction, kQuery, kDocument };
  Text longest(size_t request) const { return longest_[pair_of_[request]]; }
  size_t pair_of(size_t request) const { return pair_of_[request]; }
  size_t n_pairs() const { return longest_.size(); }

 private:
  std::vector<Text> longest_;    // [pairs]
  std::vector<size_t> pair_of_;  // [requests]
};

class RerankJob : public PairsJob {
 public:
  using PairsJob::PairsJob;
  std::vector<std::string> documents;  // as they are returned; none: they are not
  int top = 0;                         // 0: all

  std::string place(size_t request) const override {
    if (longest(request) == Text::kInstruction) return "instruction";
    return longest(request) == Text::kQuery ? "query" : place_in("documents", pair_of(request));
  }

  OrderedJson body(Completions& completions) override {
    const std::vector<double> of_documents = relevances(completions);
    std::vector<size_t> order = ranking(of_documents);
    if (top > 0) order.resize(std::min(order.size(), static_cast<size_t>(top)));
    OrderedJson results = OrderedJson::array();
    for (const size_t i : order) {
      OrderedJson result = {{"index", i}, {"relevance_score", of_documents[i]}};
      if (!documents.empty()) result["document"]["text"] = documents[i];
      results.push_back(std::move(result));
    }
    OrderedJson body = {{"id", "rerank-" + envelope_.id},
                        {"model", envelope_.model},
                        {"results", std::move(results)}};
    add_usage(body, completions, 2);
    return body;
  }
};

OrderedJson score_list(const Envelope& envelope) {
  return {{"id", "score-" + envelope.id},
          {"object", "list"},
          {"created", envelope.created},
          {"model", envelope.model},
          {"data", OrderedJson::array()}};
}

class ScorePairsJob : public PairsJob {
 public:
  using PairsJob::PairsJob;
  bool has_one_query = false;

  std::string place(size_t request) const override {
    if (longest(request) == Text::kInstruction) return "instruction";
    if (longest(request) == Text::kQuery)
      return has_one_query ? "text_1" : place_in("text_1", pair_of(request));
    return n_pairs() > 1 ? place_in("text_2", pair_of(request)) : "text_2";
  }

  OrderedJson body(Completions& completions) override {
    OrderedJson body = score_list(envelope_);
    for (const double score : relevances(completions))
      body["data"].push_back(
          {{"index", body["data"].size()}, {"object", "score"}, {"score", score}});
    add_usage(body, completions, 2);
    return body;
  }
};

class ScoreContinuationsJob : public RankingJob {
 public:
  using RankingJob::RankingJob;

  std::string place(size_t request) const override {
    const size_t n_tokens = requests[request].tokens.size();
    const auto n_prompt = static_cast<size_t>(requests[request].prompt_logprobs_from.value_or(0));
    if (n_prompt > n_tokens - n_prompt) return "prompt";
    return place_in("continuations", first_of(requests, request));
  }

  OrderedJson body(Completions& completions) override {
    OrderedJson body = score_list(envelope_);
    for (const Completion& completion : taken_apart(completions)) {
      const ContinuationScore score = continuation_score(completion);
      body["data"].push_back({{"index", body["data"].size()},
                              {"object", "score"},
                              {"score", score.logprob},
                              {"tokens", score.n_tokens},
                              {"likeliest", score.likeliest}});
    }
    add_usage(body, completions, 1);
    return body;
  }
};

// Fields that both endpoints have.
struct Common {
  bool with_sharing = false, cached = true;

  explicit Common(Fields& fields) {
    fields.flag("sharing", with_sharing);
    fields.flag("cache", cached);
  }
};

Result<std::string> read_document(const nlohmann::json& json, size_t index) {
  if (json.is_string()) return json.get<std::string>();
  std::string text;
  if (json.is_object()) {
    Fields fields(json);
    fields.only(std::initializer_list<std::string_view>{"text"});
    fields.text("text", text);
    if (!fields.status()) return in_part(place_in("documents", index), fields.status().error());
    if (fields.has("text")) return text;
  }
  return blame(place_in("documents", index),
               invalid_argument("document {} is {}, expected a string or {{\"text\": \"...\"}}",
                                index, found_text(json)));
}

// Of a list each of whose texts asks `n_each` requests at most; the first that has too many.
Status check_count(const char* name, size_t n, size_t n_each) {
  const size_t most = Bounds::kMostRequests / n_each;
  if (n <= most) return {};
  return invalid_field(name, "has {} texts, expected at most {}", n, most);
}

Status check_pairs(const std::string& query, const std::vector<std::string>& documents,
                   const RerankOptions& options, Bounds& bounds) {
  for (const std::string& document : documents)
    if (Status status = bounds.add(2, options.instruction.size() + query.size() + document.size());
        !status)
      return status;
  return {};
}

Result<std::unique_ptr<Job>> pairs_job(Fields& fields, const JobContext& context,
                                       const Common& common) {
  RerankOptions options;
  std::vector<std::string> first, second;
  fields.texts("text_1", first);
  fields.texts("text_2", second);
  fields.text("instruction", options.instruction);
  if (!fields.status()) return fields.status().error();
  for (const char* name : {"text_1", "text_2"})
    if (!fields.has(name)) return lacks(name);
  if (first.empty() || (first.size() != 1 && first.size() != second.size()))
    return invalid_field("text_1", "has {} texts, expected one, or as many as 'text_2', {}",
                         first.size(), second.size());
  if (second.empty()) return invalid_field("text_2", "has no text, expected one or more");
  if (Status status = check_count("text_2", second.size(), 2); !status) return status.error();
  const std::string& longest = *std::max_element(
      first.begin(), first.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (Status status = check_pairs(longest, second, options, context.bounds); !status)
    return status.error();
  auto job = std::make_unique<ScorePairsJob>(context, common.with_sharing, common.cached);
  job->has_one_query = first.size() == 1;
  for (size_t i = 0; i < second.size(); ++i)
    if (Status status = job->add(context, options, first[first.size() == 1 ? 0 : i], second[i]);
        !status)
      return status.error();
  return std::unique_ptr<Job>(std::move(job));
}

Result<std::unique_ptr<Job>> continuations_job(Fields& fields, const JobContext& context,
                                               const Common& common) {
  std::string prompt;
  std::vector<std::string> continuations;
  fields.text("prompt", prompt);
  fields.text_list("continuations", continuations);
  if (!fields.status()) return fields.status().error();
  if (!fields.has("prompt") && !fields.has("continuations"))
    return invalid_argument(
        "the body has nothing to score, expected 'text_1' and 'text_2', or 'prompt' and "
        "'continuations'");
  for (const char* name : {"prompt", "continuations"})
    if (!fields.has(name)) return lacks(name);
  if (continuations.empty())
    return invalid_field("continuations", "has no text, expected one or more");
  if (Status status = check_count("continuations", continuations.size(), 1); !status)
    return status.error();
  size_t longest = 0;
  for (size_t i = 0; i < continuations.size(); ++i) {
    if (continuations[i].empty())
      return invalid_field(place_in("continuations", i),
                           "is empty, expected one character at least");
    longest = std::max(longest, continuations[i].size());
  }
  if (Status status = context.bounds.add(continuations.size(), prompt.size() + longest); !status)
    return status.error();
  if (context.given_up()) return given_up();
  auto scoring = continuation_requests(context.model, prompt, continuations);
  if (!scoring)
    return scoring.error().field.empty() ? blame("prompt", scoring.error()) : scoring.error();
  auto job = std::make_unique<ScoreContinuationsJob>(context, common.with_sharing, common.cached);
  job->requests = joined(std::move(*scoring));
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace

Result<std::unique_ptr<Job>> make_rerank_job(const nlohmann::json& json,
                                             const JobContext& context) {
  Fields fields(json);
  const Common common(fields);
  RerankOptions options;
  std::string query;
  int top = 0;
  bool return_documents = false;
  fields.text("query", query);
  fields.text("instruction", options.instruction);
  fields.integer("top_n", top);
  fields.flag("return_documents", return_documents);
  fields.only(std::initializer_list<std::string_view>{"model", "user", "sharing", "cache", "query",
                                                      "documents", "instruction", "top_n",
                                                      "return_documents"});
  if (!fields.status()) return fields.status().error();
  for (const char* name : {"query", "documents"})
    if (!fields.has(name)) return lacks(name);
  if (query.empty()) return invalid_field("query", "is empty, expected one character at least");
  const nlohmann::json& documents = json["documents"];
  if (!documents.is_array() || documents.empty())
    return invalid_field("documents", "is {}, expected a list of one or more",
                         found_text(documents));
  if (Status status = check_count("documents", documents.size(), 2); !status) return status.error();
  if (fields.has("top_n") && top < 1)
    return invalid_field("top_n", "is {}, expected 1 or more", top);
  std::vector<std::string> texts;
  for (size_t i = 0; i < documents.size(); ++i) {
    Result<std::string> text = read_document(documents[i], i);
    if (!text) return text.error();
    texts.push_back(std::move(*text));
  }
  if (Status status = check_pairs(query, texts, options, context.bounds); !status)
    return status.error();
  auto job = std::make_unique<RerankJob>(context, common.with_sharing, common.cached);
  job->top = top;
  for (const std::string& text : texts)
    if (Status status = job->add(context, options, query, text); !status) return status.error();
  if (return_documents) job->documents = std::move(texts);
  return std::unique_ptr<Job>(std::move(job));
}

Result<std::unique_ptr<Job>> make_score_job(const nlohmann::json& json, const JobContext& context) {
  Fields fields(json);
  const Common common(fields);
  const bool pairs = fields.has("text_1") || fields.has("text_2");
  if (pairs) {
    fields.only(std::initializer_list<std::string_view>{"model", "user", "sharing", "cache",
                                                        "text_1", "text_2", "instruction"});
  } else {
    fields.only(std::initializer_list<std::string_view>{"model", "user", "sharing", "cache",
                                                        "prompt", "continuations"});
  }
  if (!fields.status()) return fields.status().error();
  return pairs ? pairs_job(fields, context, common) : continuations_job(fields, context, common);
}

}  // namespace pando::openai
