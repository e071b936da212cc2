// Facts about the model and the server, as other servers' APIs tell them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "serve/http.h"
#include "serve/service.h"

namespace pando::serve {

// Lists what the model can do: "completion", and "chat" if it has a chat template; or "embedding";
// or "classification".
std::vector<std::string> model_capabilities(const Model& model);

// GET /info of text-generation-inference and text-embeddings-inference.
Result<HttpResponse> inference_info(Service& service, const HttpRequest& request, const Json& body);
// GET /props and /slots of llama-server.
Result<HttpResponse> llama_props(Service& service, const HttpRequest& request, const Json& body);
Result<HttpResponse> llama_slots(Service& service, const HttpRequest& request, const Json& body);
// GET /api/tags, POST /api/show and GET /api/version of Ollama.
// A model as Ollama's lists have it: of those that are there, and of those that are loaded.
Json ollama_model(const Service& service, const std::string& name);
Json ollama_running(const Service& service, const std::string& name);
Result<HttpResponse> ollama_tags(Service& service, const HttpRequest& request, const Json& body);
Result<HttpResponse> ollama_ps(Service& service, const HttpRequest& request, const Json& body);
Result<HttpResponse> ollama_show(Service& service, const HttpRequest& request, const Json& body);
Result<HttpResponse> ollama_version(Service& service, const HttpRequest& request, const Json& body);

}  // namespace pando::serve
