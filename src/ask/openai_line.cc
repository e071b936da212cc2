// Lines of an OpenAI batch: {"custom_id", "method", "url", "body"}.
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "ask/errors.h"
#include "ask/line.h"
#include "ask/openai_request.h"
#include "ask/openai_response.h"
#include "ask/sampling_fields.h"
#include "ask/usage.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {
namespace {

constexpr std::string_view kUrls[] = {"/v1/completions", "/v1/chat/completions", "/v1/embeddings"};
constexpr Endpoint kEndpoints[] = {Endpoint::kCompletions, Endpoint::kChat, Endpoint::kEmbeddings};
constexpr std::string_view kEnvelopeFields[] = {"custom_id", "method", "url", "body"};

class OpenAiLine : public Line {
 public:
  const char* unique_field() const override { return "custom_id"; }

  Status read(const Json& json, const LineContext& context) {
    options = context.options.defaults;
    Fields fields(json);
    fields.text("custom_id", id);
    if (!fields.status()) return fields.status();
    if (!fields.has("custom_id"))
      return invalid_argument(
          "the line has 'url', as in an OpenAI batch, but no 'custom_id', expected a different one "
          "in each line");
    id_json = json["custom_id"];
    if (Status status = read_body(json, context); !status) refused = status.error();
    return {};
  }

  // {"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error": null}
  std::vector<Json> written(const Answered& answered, const LineWriting& with) const override {
    // From the line alone: a run that is resumed writes the same.
    const std::string name =
        fmt::format("{:016x}", static_cast<uint64_t>(XXH3_64bits(id.data(), id.size())));
    Json output = {{"id", "batch_req_" + name}, {"custom_id", id}};
    Json& response = output["response"];
    response["status_code"] = 200;
    response["request_id"] = "req_" + name;
    if (answered.error != nullptr) {
      HttpError failure = http_error(*answered.error);
      if (failure.param == "prompt") failure.param = prompt_field(form_.endpoint);
      if (failure.param == "form") failure.param = form_field_;
      response["status_code"] = failure.status;
      response["body"] = kOpenAiErrors.body(failure);
    } else {
      std::vector<const Request*> requests;
      for (const Question& question : questions) requests.push_back(&question.request);
      const Envelope envelope = {
          .id = name,
          .created = with.created,
          .model = form_.model.empty() ? with.model.info().family : form_.model,
          .warning = warning};
      response["body"] = response_body(form_, envelope, requests, answered.answers, with.model,
                                       /*cached=*/false);
      if (has_sharing_) response["body"]["sharing"] = SharingCounts(answered.answers).json();
    }
    output["error"] = nullptr;
    return one_object(std::move(output));
  }

 private:
  Status read_body(const Json& json, const LineContext& context) {
    Fields fields(json);
    std::string method = "POST", url;
    std::vector<std::string_view> known(std::begin(kEnvelopeFields), std::end(kEnvelopeFields));
    known.insert(known.end(), context.other_fields.begin(), context.other_fields.end());
    fields.only(known);
    fields.text("method", method);
    fields.text("url", url);
    if (method != "POST") fields.fail("method", json["method"], "\"POST\"");
    const size_t form = std::find(std::begin(kUrls), std::end(kUrls), url) - std::begin(kUrls);
    if (form == std::size(kUrls))
      fields.fail(invalid_argument("field 'url' is \"{}\", expected one of {}", url,
                                   fmt::join(kUrls, ", ")));
    Json body;
    fields.object("body", body);
    if (!fields.status()) return fields.status();
    if (!body.is_object()) return invalid_argument("the line has no 'body'");
    const OpenAiRules rules{.sampling = options.sampling,
                            .chat = options.chat_options,
                            .embed = context.embed,
                            .fim = unsupported("'suffix' is not supported in a batch"),
                            .logits_hash = options.logits_hash,
                            .is_batch = true};
    Result<OpenAiRequest> parsed = parse_openai_request(kEndpoints[form], body, rules);
    if (!parsed) return parsed.error();
    form_ = std::move(parsed->form);
    form_field_ = std::move(parsed->form_field);
    has_sharing_ = parsed->serving.sharing;
    name_requests(parsed->requests, id);
    const bool has_length = parsed->length_field != nullptr;
    for (Request& request : parsed->requests) {
      if (has_length) yield_default_length(body, request.sampling);
      questions.push_back({.index = questions.size(), .request = std::move(request)});
    }
    return {};
  }

  AnswerForm form_;
  std::string form_field_;  // that says the form of the answer; empty: the options of the run do
  bool has_sharing_ = false;
};

}  // namespace

bool is_openai_line(const Json& json) {
  return json.is_object() && (json.contains("custom_id") || json.contains("url"));
}

Result<std::unique_ptr<Line>> read_openai_line(const Json& json, const LineContext& context) {
  auto line = std::make_unique<OpenAiLine>();
  if (Status status = line->read(json, context); !status) return status.error();
  return std::unique_ptr<Line>(std::move(line));
}

}  // namespace pando::ask
