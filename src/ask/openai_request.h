// The bodies of requests of the OpenAI API, as what the engine is asked.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "ask/serving_fields.h"
#include "base/json.h"
#include "pando/embed.h"
#include "pando/values/request.h"
#include "text/fim.h"

namespace pando::ask {

enum class Endpoint { kCompletions, kChat, kEmbeddings };
const char* prompt_field(Endpoint endpoint);  // of their bodies, that has what is asked

// These parts of a body decide the form of its answer.
struct AnswerForm {
  Endpoint endpoint = Endpoint::kCompletions;
  std::string model;        // as the request names it
  bool echo = false;        // texts begin with the prompt
  bool functions = false;   // a call has its older name, "function_call"
  bool base64 = false;      // embeddings: as bytes of f32
  EmbedOptions embed = {};  // embeddings: how vectors are made
};

struct OpenAiRequest {
  AnswerForm form;
  std::vector<Request> requests;  // one for each prompt
  bool stream = false;
  bool include_usage = false;    // as a stream's last chunk
  bool usage_in_chunks = false;  // and in every other
  ServingFields serving;
  const char* length_field = nullptr;  // that says how long answers may get; null: none does
  std::string form_field;              // it says the form of answers; empty: none does
};

// Says where a body comes from, and what holds where it says nothing.
struct OpenAiRules {
  SamplingOptions sampling;
  ChatOptions chat;
  Result<EmbedOptions> embed = EmbedOptions();  // or why the model's embeddings are not offered
  Result<FimForm> fim = FimForm();              // or why a "suffix" is not offered
  bool logits_hash = false;
  bool is_batch = false;  // nothing is streamed, or chosen for one request only
  int context = 0;        // the engine's, in tokens; 0: not known
  size_t most_prompts = std::numeric_limits<size_t>::max();
  size_t most_list_bytes = std::numeric_limits<size_t>::max();  // of lists, a copy for each prompt
};

// kInvalidArgument names field, found and expected.
Result<OpenAiRequest> parse_openai_request(Endpoint endpoint, const Json& json,
                                           const OpenAiRules& rules);

// By which sampling without a seed goes: the first is `id`, the others "id/1", "id/2", ...
void name_requests(std::vector<Request>& requests, const std::string& id);

}  // namespace pando::ask
