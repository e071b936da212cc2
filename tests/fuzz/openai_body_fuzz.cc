// Bodies of the API: the first byte chooses the endpoint.
#include "ask/openai_request.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static constexpr ask::Endpoint kEndpoints[] = {ask::Endpoint::kCompletions, ask::Endpoint::kChat,
                                                 ask::Endpoint::kEmbeddings};
  const Result<Json> json = parse_json(fuzz::text_of(data + 1, size - 1));
  if (!json) {
    fuzz::check_error(json.error());
    return 0;
  }
  for (const bool is_batch : {false, true}) {
    const ask::OpenAiRules rules{.is_batch = is_batch, .most_prompts = 100};
    const Result<ask::OpenAiRequest> body =
        ask::parse_openai_request(kEndpoints[data[0] % 3], *json, rules);
    if (!body) {
      fuzz::check_error(body.error());
      continue;
    }
    fuzz::demand(!body->requests.empty() && body->requests.size() <= 8192, "requests of a body");
    fuzz::demand(is_batch || body->requests.size() <= 100, "more prompts than there may be");
    fuzz::demand(!is_batch || !body->stream, "a stream in a batch");
    for (const Request& request : body->requests)
      fuzz::demand(!find_invalid_utf8(request.prompt), "a prompt that is not UTF-8");
  }
  return 0;
}
