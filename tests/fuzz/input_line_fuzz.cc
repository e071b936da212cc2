// A line of a batch's input.
#include "base/json.h"
#include "batch/input_line.h"
#include "fuzz/fuzz.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const bool chat : {false, true}) {
    AnswerOptions options;
    options.chat = chat;
    const Result<BatchLine> line = parse_line(fuzz::text_of(data, size), 7, options);
    if (!line) {
      fuzz::check_error(line.error());
      continue;
    }
    fuzz::demand(parse_json(line->id_json).ok(), "an id that is no JSON");
    fuzz::demand(line->questions.empty() == line->refused.has_value(), "a line that asks nothing");
    for (const BatchQuestion& question : line->questions) {
      const Request request = request_of(*line, question);
      fuzz::demand(line->form != LineForm::kNative || !request.prompt.empty() ||
                       !request.tokens.empty() || !request.messages.empty(),
                   "a question without a prompt");
      fuzz::demand(!find_invalid_utf8(request.prompt), "a prompt that is not UTF-8");
    }
  }
  return 0;
}
