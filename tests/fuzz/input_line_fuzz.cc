// A line of a batch's input.
#include "ask/line.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const bool chat : {false, true}) {
    BatchOptions options;
    options.defaults.chat = chat;
    const Result<EmbedOptions> embed = EmbedOptions();
    const std::string_view text = fuzz::text_of(data, size);
    const Result<Json> json = parse_json(text);
    if (!json) {
      fuzz::check_error(json.error());
      continue;
    }
    const Result<std::unique_ptr<ask::Line>> read =
        ask::read_answer_line(*json, {.number = 7, .options = options, .embed = embed});
    if (!read) {
      fuzz::check_error(read.error());
      continue;
    }
    const std::unique_ptr<ask::Line>& line = *read;
    fuzz::demand(line->questions.empty() == line->refused.has_value(), "a line that asks nothing");
    for (const ask::Question& question : line->questions) {
      const Request request = line->request_of(question);
      fuzz::demand(!line->answers_apart() || !request.prompt.empty() || !request.tokens.empty() ||
                       !request.messages.empty(),
                   "a question without a prompt");
      fuzz::demand(!find_invalid_utf8(request.prompt), "a prompt that is not UTF-8");
    }
  }
  return 0;
}
