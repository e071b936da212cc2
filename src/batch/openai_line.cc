#include "batch/openai_line.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>

#include "base/errors.h"
#include "base/fields.h"
#include "openai/errors.h"
#include "openai/response.h"

namespace pando {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kUrls[] = {"/v1/completions", "/v1/chat/completions", "/v1/embeddings"};
constexpr openai::Endpoint kEndpoints[] = {openai::Endpoint::kCompletions, openai::Endpoint::kChat,
                                           openai::Endpoint::kEmbeddings};
constexpr std::string_view kEnvelopeFields[] = {"custom_id", "method", "url", "body"};

Status read_body(const Json& json, std::string_view text, const Result<EmbedOptions>& embed,
                 BatchLine& line) {
  Fields fields(json);
  std::string method = "POST", url;
  fields.only(kEnvelopeFields);
  fields.text("method", method);
  fields.text("url", url);
  if (method != "POST") fields.fail("method", json["method"], "\"POST\"");
  const size_t form = std::find(std::begin(kUrls), std::end(kUrls), url) - std::begin(kUrls);
  if (form == std::size(kUrls))
    fields.fail(
        invalid_argument("field 'url' is \"{}\", expected one of {}", url, fmt::join(kUrls, ", ")));
  Json body;
  fields.object("body", body);
  if (!fields.status()) return fields.status();
  if (!body.is_object()) return invalid_argument("the line has no 'body'");
  const openai::BodyRules rules{.sampling = line.options.sampling,
                                .chat = line.options.chat_options,
                                .text = text,
                                .embed = embed,
                                .logits_hash = line.options.logits_hash,
                                .is_batch = true};
  Result<openai::Body> parsed = openai::parse_body(kEndpoints[form], body, rules);
  if (!parsed) return parsed.error();
  line.answer_form = std::move(parsed->form);
  openai::name_requests(parsed->requests, line.id);
  for (Request& request : parsed->requests)
    line.questions.push_back({.index = line.questions.size(), .request = std::move(request)});
  return {};
}

}  // namespace

bool is_openai_line(const Json& json) {
  return json.is_object() && (json.contains("custom_id") || json.contains("url"));
}

Result<BatchLine> parse_openai_line(const Json& json, const AnswerOptions& defaults,
                                    std::string_view text, const Result<EmbedOptions>& embed) {
  BatchLine line{.form = LineForm::kOpenAi, .options = defaults};
  Fields fields(json);
  fields.text("custom_id", line.id);
  if (!fields.status()) return fields.status().error();
  if (!fields.has("custom_id")) return invalid_argument("the line has a 'url' but no 'custom_id'");
  line.id_json = json["custom_id"].dump();
  if (Status status = read_body(json, text, embed, line); !status) {
    line.refused = status.error();
    line.questions.clear();
  }
  return line;
}

std::string openai_output(const BatchLine& line,
                          const std::vector<std::vector<Completion>>& completions,
                          const std::optional<Error>& error, int64_t created, const Model& model) {
  // From the line alone: a run that is resumed writes the same.
  const std::string id =
      fmt::format("{:016x}", static_cast<uint64_t>(XXH3_64bits(line.id.data(), line.id.size())));
  nlohmann::ordered_json output = {{"id", "batch_req_" + id}, {"custom_id", line.id}};
  nlohmann::ordered_json& response = output["response"];
  response["status_code"] = 200;
  response["request_id"] = "req_" + id;
  if (error) {
    openai::WireError wire = openai::wire_error(*error);
    if (wire.param == "prompt") wire.param = openai::prompt_field(line.answer_form.endpoint);
    response["status_code"] = wire.status;
    response["body"] = openai::error_body(wire);
  } else {
    std::vector<Request> requests;
    for (const BatchQuestion& question : line.questions) requests.push_back(question.request);
    const std::string& name = line.answer_form.model;
    response["body"] = openai::response_body(line.answer_form,
                                             {.id = id,
                                              .created = created,
                                              .model = name.empty() ? model.info().family : name,
                                              .warning = line.warning},
                                             requests, completions, model, /*cached=*/false);
  }
  output["error"] = nullptr;
  return openai::dump(output);
}

}  // namespace pando
