#include "serve/door_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "api/model_access.h"
#include "ask/body.h"
#include "ask/ollama_body.h"
#include "ask/openai_body.h"
#include "base/fields.h"
#include "pando/version.h"

namespace pando::serve {
namespace {

bool embeds(const Model& model) {
  const auto& form = embedding_form_of(model);
  return form && form->pooling != Pooling::kNone;
}

bool is_classifier(const Model& model) {
  const auto& head = classifier_head_of(model);
  return head && head->has_value();
}

// "1.5B" or "135M"
std::string count_text(int64_t n_parameters) {
  constexpr double kMillion = 1e6, kBillion = 1e9;
  const auto n = static_cast<double>(n_parameters);
  return n >= kBillion ? fmt::format("{:.1f}B", n / kBillion)
                       : fmt::format("{:.0f}M", n / kMillion);
}

Json ollama_details(const Model& model) {
  const ModelInfo info = model.info();
  std::string type = info.weight_type;
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::toupper(c); });
  return {{"parent_model", ""},
          {"family", info.family},
          {"families", {info.family}},
          {"parameter_size", count_text(info.n_parameters)},
          {"quantization_level", type}};
}

Json ollama_capabilities(const Model& model) {
  Json list = Json::array();
  for (const std::string& name : model_capabilities(model))
    if (name == "completion" || name == "embedding") list.push_back(name);
  if (list != Json::array({"completion"})) return list;
  const auto& chat = chat_template_of(model);
  if (chat) list.push_back("tools");
  if (chat && chat->has_thinking_switch()) list.push_back("thinking");
  if (ask::fim_form_for(model)) list.push_back("insert");
  return list;
}

}  // namespace

std::vector<std::string> model_capabilities(const Model& model) {
  if (is_classifier(model)) return {"classification"};
  if (embeds(model) || !gives_logits(model)) return {"embedding"};
  if (!chat_template_of(model)) return {"completion"};
  return {"completion", "chat"};
}

Result<HttpResponse> inference_info(Service& service, const HttpRequest&, const Json&) {
  const Model& model = service.engine.model();
  const size_t longest = service.longest();
  const bool is_of_vectors = embeds(model);
  Json info = {{"model_id", service.options.model_names.front()},
               {"model_sha", nullptr},
               {"model_dtype", model.info().weight_type},
               {"model_pipeline_tag", is_of_vectors ? "feature-extraction" : "text-generation"},
               {"max_concurrent_requests", service.engine.options().max_open},
               {"max_best_of", 1},
               {"max_input_length", longest},
               {"max_input_tokens", longest - 1},
               {"max_total_tokens", longest},
               {"max_client_batch_size", ask::Bounds::kMostRequests},
               {"tokenization_workers", service.options.text_threads},
               {"validation_workers", service.options.text_threads},
               {"router", "pando"},
               {"version", version()},
               {"sha", build_commit()},
               {"docker_label", nullptr}};
  if (is_of_vectors) {
    const Pooling pooling = embedding_form_of(model)->pooling;
    const char* name = pooling == Pooling::kFirst  ? "cls"
                       : pooling == Pooling::kLast ? "last_token"
                                                   : "mean";  // TEI names no other
    info["model_type"] = {{"embedding", {{"pooling", name}}}};
  }
  return json_response(info);
}

Result<HttpResponse> llama_props(Service& service, const HttpRequest&, const Json&) {
  return json_response({{"default_generation_settings", {{"n_ctx", service.longest()}}},
                        {"total_slots", service.engine.options().max_running},
                        {"model_alias", service.options.model_names.front()},
                        {"modalities", {{"vision", false}, {"audio", false}}},
                        {"build_info", fmt::format("pando {}", version())}});
}

// The engine has no slots: as many answers as can run, of which the first are running.
Result<HttpResponse> llama_slots(Service& service, const HttpRequest&, const Json&) {
  const uint64_t n_running = service.engine.stats().running_answers;
  const auto n_slots = static_cast<uint64_t>(service.engine.options().max_running);
  Json slots = Json::array();
  for (uint64_t id = 0; id < n_slots; ++id)
    slots.push_back({{"id", id}, {"n_ctx", service.longest()}, {"is_processing", id < n_running}});
  return json_response(slots);
}

Json ollama_model(const Service& service, const std::string& name) {
  const Model& model = service.engine.model();
  return {{"name", name},
          {"model", name},
          {"modified_at", ask::ollama_time(service.started)},
          {"size", model.info().weight_bytes},
          {"details", ollama_details(model)}};
}

Json ollama_running(const Service& service, const std::string& name) {
  Json running = ollama_model(service, name);
  running.erase("modified_at");
  running["size"] = service.engine.model().info().weight_bytes + service.engine.options().kv_memory;
  running["size_vram"] = 0;
  running["context_length"] = service.longest();
  return running;
}

Result<HttpResponse> ollama_tags(Service& service, const HttpRequest&, const Json&) {
  Json models = Json::array();
  for (const std::string& name : service.options.model_names)
    models.push_back(ollama_model(service, name));
  return json_response({{"models", std::move(models)}});
}

Result<HttpResponse> ollama_ps(Service& service, const HttpRequest&, const Json&) {
  Json models = Json::array();
  for (const std::string& name : service.options.model_names)
    models.push_back(ollama_running(service, name));
  return json_response({{"models", std::move(models)}});
}

Result<HttpResponse> ollama_show(Service& service, const HttpRequest&, const Json& body) {
  Fields fields(body);
  std::string model_name, name;
  bool is_verbose = false;
  fields.text("model", model_name);
  fields.text("name", name);  // its older name
  fields.flag("verbose", is_verbose);
  fields.only(std::initializer_list<std::string_view>{"model", "name", "verbose"});
  if (!fields.status()) return fields.status().error();
  if (!name.empty() && !service.serves(name))
    return wrong_request(404, "model_not_found", service.not_served(name), "name");
  const Model& model = service.engine.model();
  const ModelInfo info = model.info();
  Json facts = {{"general.architecture", info.family},
                {"general.parameter_count", info.n_parameters}};
  facts[info.family + ".context_length"] = service.longest();
  facts[info.family + ".embedding_length"] = info.d_model;
  facts[info.family + ".block_count"] = info.n_layers;
  // Clients look for these variables to learn whether a suffix may be given.
  const bool has_fim = ask::fim_form_for(model).ok();
  return json_response({{"modified_at", ask::ollama_time(service.started)},
                        {"template", has_fim ? "{{ .Prompt }}{{ .Suffix }}" : "{{ .Prompt }}"},
                        {"details", ollama_details(model)},
                        {"model_info", std::move(facts)},
                        {"capabilities", ollama_capabilities(model)}});
}

Result<HttpResponse> ollama_version(Service&, const HttpRequest&, const Json&) {
  return json_response({{"version", version()}});
}

}  // namespace pando::serve
