// Options of a batch that come as JSON.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "ask/classified.h"
#include "ask/question_fields.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "capi/options.h"

namespace pando::capi {
namespace {

constexpr std::string_view kBatchSource = "options of the batch";
constexpr std::pair<std::string_view, BatchTask> kTasks[] = {{"answer", BatchTask::kAnswer},
                                                             {"embed", BatchTask::kEmbed},
                                                             {"rerank", BatchTask::kRerank},
                                                             {"classify", BatchTask::kClassify},
                                                             {"score", BatchTask::kScore}};
constexpr std::pair<std::string_view, TooLong> kTooLongWays[] = {
    {"error", TooLong::kError},
    {"skip", TooLong::kSkip},
    {"truncate_middle", TooLong::kTruncateMiddle},
    {"split", TooLong::kSplit}};
// Fields of every task, and those of one.
constexpr std::string_view kBatchFields[] = {"task", "ordered", "too_long"};
constexpr std::string_view kWithFields[] = {"with"};
constexpr std::string_view kEmbedFields[] = {"dimensions", "normalize", "input_type",
                                             "instruction"};
constexpr std::string_view kRerankFields[] = {"top", "instruction"};
constexpr std::string_view kClassifyFields[] = {"top", "scores", "aggregation"};
// Fields of a line that say nothing about others.
constexpr std::string_view kLineFields[] = {"id",
                                            "answers",
                                            "metadata",
                                            "tools",
                                            "tool_choice",
                                            "documents",
                                            "thinking_budget",
                                            "thinking_token_budget",
                                            "parallel_tool_calls",
                                            "truncate_prompt_tokens"};

void read_with(Fields& fields, ExtraFields& out) {
  const std::array<std::pair<std::string_view, bool*>, 4> known = {{{"question", &out.question},
                                                                    {"answers", &out.answers},
                                                                    {"scores", &out.scores},
                                                                    {"prompt", &out.prompt}}};
  std::vector<std::string> names;
  fields.text_list("with", names);
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name, &std::pair<std::string_view, bool*>::first);
    if (found == known.end()) return fields.refuse("with", "question, answers, scores or prompt");
    *found->second = true;
  }
}

void read_task_fields(Fields& fields, BatchOptions& options) {
  std::vector<std::string_view> known(std::begin(kBatchFields), std::end(kBatchFields));
  if (options.task == BatchTask::kEmbed) {
    known.insert(known.end(), std::begin(kEmbedFields), std::end(kEmbedFields));
    fields.integer("dimensions", options.embed.dimensions);
    if (bool normalises = true; fields.has("normalize")) {
      fields.flag("normalize", normalises);
      options.embed.normalise = normalises;
    }
    fields.text("input_type", options.embed.input_type);
    fields.text("instruction", options.embed.instruction);
  } else if (options.task == BatchTask::kRerank) {
    known.insert(known.end(), std::begin(kRerankFields), std::end(kRerankFields));
    fields.integer("top", options.top);
    if (fields.has("top") && options.top < 1) fields.fail("top", options.top, "1 or more");
    if (fields.has("instruction")) fields.text("instruction", options.rerank.instruction.emplace());
  } else if (options.task == BatchTask::kClassify) {
    known.insert(known.end(), std::begin(kClassifyFields), std::end(kClassifyFields));
    ask::read_label_fields(fields, {"top", "scores", "aggregation"}, options.classify);
  }
  fields.only(known);
}

// As questions about a context have them, which is not there yet.
Status read_defaults(const Json& json, Fields& fields, BatchOptions& options) {
  for (const std::string_view name : kLineFields)
    if (fields.has(name))
      return invalid_field(std::string(name), "belongs to a line, expected options of all lines");
  read_with(fields, options.with);
  std::vector<std::string_view> others(question_flags().begin(), question_flags().end());
  others.insert(others.end(), std::begin(kBatchFields), std::end(kBatchFields));
  others.insert(others.end(), std::begin(kWithFields), std::end(kWithFields));
  ask::Job job;
  job.options = options.defaults;
  const ask::QuestionSource source{.json = json, .name = "options", .other_fields = others};
  if (Status status = ask::read_options(source, {.context = "", .questions = {""}}, job); !status)
    return status;
  options.defaults = std::move(job.options);
  return fields.status();
}

}  // namespace

Result<BatchOptions> read_batch_options(std::string_view text) {
  BatchOptions options;
  const Result<Json> json = read_question_json(text, options.defaults);
  if (!json) return json.error();
  Fields fields(*json, kBatchSource, ErrorCode::kInvalidArgument);
  options.task = one_of<BatchTask>(fields, "task", kTasks);
  options.too_long = one_of<TooLong>(fields, "too_long", kTooLongWays);
  options.ordered = fields.boolean("ordered", false);
  if (!fields.status()) return fields.status().error();
  if (options.task == BatchTask::kAnswer) {
    if (Status status = read_defaults(*json, fields, options); !status) return status.error();
    return options;
  }
  if (options.too_long == TooLong::kSplit)
    return invalid_field("too_long",
                         "is split, which divides contexts of questions, expected "
                         "error, skip or truncate_middle");
  read_task_fields(fields, options);
  if (!fields.status()) return fields.status().error();
  return options;
}

}  // namespace pando::capi
