// `pando inspect`: a run without its computation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/answer_options.h"
#include "cli/cache_directory.h"
#include "cli/commands.h"
#include "cli/grouped_messages.h"
#include "cli/inspection_text.h"
#include "cli/print_stderr.h"
#include "cli/progress.h"
#include "cli/prompt_text.h"
#include "cli/report.h"
#include "cli/run_checks.h"
#include "cli/run_options.h"
#include "cli/task_nouns.h"
#include "pando/file_input.h"
#include "pando/inspect.h"
#include "pando/step_costs.h"
#include "pando/values/request_options.h"

namespace pando::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct InspectOptions {
  RunOptions run;
  bool json = false;
  bool time = false;
};

// Seconds on this machine, if all answers are of full length.
struct PredictedTime {
  double prompts = 0, answers = 0;
};

OrderedJson as_json(const Inspection& i, const std::optional<PredictedTime>& time) {
  OrderedJson json = {{"lines", i.lines},
                      {"bad_lines", i.bad_lines},
                      {"prompts", i.prompts},
                      {"too_long", i.too_long},
                      {"no_room", i.no_room},
                      {"room", i.room},
                      {"kv_memory_needed", i.kv_memory_needed},
                      {"refused", i.refused},
                      {"repeated_ids", i.repeated_ids},
                      {"equal_ids", i.equal_ids},
                      {"longest_prompt", i.longest_prompt},
                      {"longest_with_answer", i.longest_path},
                      {"prompt_tokens", i.prompt_tokens},
                      {"distinct_tokens", i.distinct_tokens},
                      {"answer_tokens", i.answer_tokens},
                      {"kv_bytes_per_token", i.kv_bytes},
                      {"flops_per_token", i.flops_per_token},
                      {"attention_flops",
                       {{"prompts", i.prompt_keys * i.flops_per_key},
                        {"distinct", i.distinct_keys * i.flops_per_key},
                        {"answers", i.answer_keys * i.flops_per_key}}},
                      {"stops", OrderedJson::array()},
                      {"repeated_passages", i.repeated_passages},
                      {"reordered_tokens", i.reordered_tokens}};
  if (time) json["predicted_seconds"] = {{"prompts", time->prompts}, {"answers", time->answers}};
  for (const Inspection::Stop& stop : i.stops)
    json["stops"].push_back({{"prompts", stop.prompts},
                             {"ways", stop.ways},
                             {"shared_tokens", stop.shared_tokens},
                             {"tokens_behind", stop.tokens_behind},
                             {"before", stop.before},
                             {"after", stop.after}});
  return json;
}

// Prompts in full steps, then answers as many at a time as run. How much of what answers see is
// shared is taken to be as in their prompts.
Result<PredictedTime> predict(const InspectOptions& o, const Inspection& i) {
  static constexpr int kSeconds = 8;
  const Result<std::shared_ptr<const Model>> model = load_model(o.run.model, /*quiet=*/true);
  if (!model) return model.error();
  const EngineOptions options = engine_options(o.run.model);
  const Result<MeasuredSteps> steps =
      saved_steps(cache_directory(), **model, options, kSeconds, [] {
        print_stderr(
            "pando: measuring step times, which takes about {} s ({} s for a large model)\n",
            kSeconds, MeasuredSteps::kMostTimes * kSeconds);
      });
  if (!steps) return steps.error();
  PredictedTime time;
  const auto add = [&](double n_steps, StepWork work, double& seconds) -> Status {
    if (n_steps == 0) return {};
    for (double* of_all : {&work.rows, &work.outputs, &work.keys, &work.reads}) *of_all /= n_steps;
    const Result<double> of_one = predicted_seconds(steps->costs, work);
    if (!of_one) return of_one.error();
    seconds = n_steps * *of_one;
    return {};
  };
  const auto n_rows = static_cast<double>(i.distinct_tokens),
             n_tokens = static_cast<double>(i.answer_tokens);
  const double n_prefills = std::ceil(n_rows / options.step_rows);
  const double n_decodes = std::ceil(
      n_tokens / static_cast<double>(std::clamp<uint64_t>(i.answers, 1, options.max_running)));
  Status status = add(n_prefills,
                      {.rows = n_rows,
                       .outputs = static_cast<double>(i.prompts),
                       .keys = i.distinct_keys,
                       .reads = i.distinct_keys / std::max(1.0, n_rows) * n_prefills},
                      time.prompts);
  if (status)
    status = add(n_decodes,
                 {.rows = n_tokens,
                  .outputs = n_tokens,
                  .keys = i.answer_keys,
                  .reads = i.answer_keys * part_of(i.distinct_tokens, i.prompt_tokens)},
                 time.answers);
  return status ? Result<PredictedTime>(time) : status.error();
}

int inspect(InspectOptions& o) {
  if (Status status = settle(o.run); !status) return report_error(status.error()), kUsage;
  FileInput input;
  if (Status status = input.open(o.run.input); !status) return report_error(status.error());
  const Result<std::shared_ptr<const Model>> model = load_tokenizer(o.run.model);
  if (!model) return refuse(model.error());
  const Result<int> context = context_of(**model, o.run.model);
  if (!context) return refuse(context.error());
  if (Status status = check_run(o.run, **model, input); !status) return refuse(status.error());
  BatchOptions options = o.run.batch;
  GroupedMessages messages([](const std::string& message) { report_error(message); },
                           o.run.verbose);
  options.on_problem = [&](const std::string& message) { messages.add(message); };
  std::istream stream(&input);
  EngineOptions engine = engine_options(o.run.model);
  engine.context = *context;
  if (engine.kv_memory > 0)
    if (const Result<size_t> longest = longest_sequence(**model, engine); !longest)
      return refuse(longest.error());
  const Result<Inspection> inspection = inspect_batch(**model, engine, stream, options);
  messages.end();
  if (!inspection) return report_error(inspection.error());
  std::optional<PredictedTime> time;
  if (o.time) {
    const Result<PredictedTime> predicted = predict(o, *inspection);
    if (!predicted) return refuse(predicted.error());
    time = *predicted;
  }
  if (o.json) {
    fmt::print(
        "{}\n",
        as_json(*inspection, time).dump(2, ' ', false, OrderedJson::error_handler_t::replace));
  } else {
    fmt::print("{}", inspection_text(*inspection));
    if (time)
      fmt::print("time on this machine: about {} for prompts, {} for answers of full length\n",
                 duration(time->prompts), duration(time->answers));
  }
  const Inspection& i = *inspection;
  if (i.lines == 0) report_error(no_records_text(options.format));
  return i.bad_lines + i.too_long + i.refused + i.repeated_ids > 0 ? kIncomplete : kOk;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  RunOptions& run = options->run;
  add_model_options(app, run.model);
  add_chat_template_option(app, run.model);
  app.get_option("--model")->description(
      "As in `pando run`; the name of the option may be left out (default: Pando's demo "
      "model)");
  const CLI::Option* named = app.get_option("--model");
  const CLI::Option* alone = app.add_option("model", run.model.model, "As --model");
  add_input_options(app, run);
  app.add_flag("--verbose", run.verbose, "Report every bad line and what is wrong with it");
  app.add_flag("--time", options->time,
               "Predict the time on this machine: loads the weights and, the first time, measures "
               "step times for some seconds");
  SamplingOptions& sampling = run.batch.defaults.sampling;
  app.add_option("--max-tokens", sampling.max_tokens, "Maximum tokens per answer")
      ->check(at_least(1))
      ->capture_default_str();
  const RequestOption* n = find_option("n", kInCommand);
  app.add_option("--n", sampling.n, "Answers per question")
      ->check(expect(n->expected, [n](double x) { return n->holds(x); }))
      ->capture_default_str();
  add_prompt_options(app, run.batch.defaults);
  app.add_flag("--json", options->json, "Print JSON");
  app.footer(
      "Reads the input, builds every prompt and counts tokens. Without --time it loads no weights "
      "and\n"
      "computes nothing.\n" +
      std::string(kEscapesHelp) + "Example:\n  pando inspect MODEL --input questions.jsonl");
  return [options, named, alone] {
    if (named->count() > 0 && alone->count() > 0)
      return refuse(
          {ErrorCode::kInvalidArgument, "inspect: the model is given twice, expected once"});
    return inspect(*options);
  };
}

}  // namespace pando::cli
