// A line of texts to embed, documents to rank, or continuations to score.
#include "ask/line.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<Json> json = parse_json(fuzz::text_of(data, size));
  if (!json) return 0;
  const BatchOptions options;
  const Result<EmbedOptions> embed = EmbedOptions();
  for (const BatchTask task : {BatchTask::kEmbed, BatchTask::kRerank, BatchTask::kScore}) {
    const Result<std::unique_ptr<ask::Line>> read =
        ask::line_reader(task)(*json, {.number = 7, .options = options, .embed = embed});
    if (!read) {
      fuzz::check_error(read.error());
      continue;
    }
    const std::unique_ptr<ask::Line>& line = *read;
    fuzz::demand(!line->questions.empty(), "a line that asks nothing");
    for (const ask::Question& question : line->questions) {
      const Request request = line->request_of(question);
      fuzz::demand(!find_invalid_utf8(request.prompt), "a prompt that is not UTF-8");
      fuzz::demand(question.prefixes.empty() || question.prefixes.size() == question.choices.size(),
                   "continuations without their prompts");
      fuzz::demand(!question.choices.empty() || request.pooling != Pooling::kNone,
                   "a question that wants nothing");
    }
  }
  return 0;
}
