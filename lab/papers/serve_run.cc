#include "lab/papers/serve_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "lab/data/file_names.h"
#include "lab/papers/serve_client.h"
#include "schedule/remaining.h"

namespace pando::lab {
namespace {

constexpr double kLongest = 3;  // seconds that the longest prompt takes alone, at least
constexpr uint64_t kTraceSeed = 5;
constexpr size_t kTraceLength = 20000;  // of a made-up one
// Budgets and deadlines, as multiples of predicted times.
constexpr double kBudget = 3;           // of a short prompt: a step
constexpr double kLeastBudget = 10e-3;  // seconds: shorter steps read too many keys for each row
constexpr double kShortDeadline = 10;   // of a step: the first token at least
constexpr double kWorkDeadline = 10;    // of a prompt: its first token
constexpr double kTokenDeadline = 2;    // of a step: the next token

ChatMix mix_of(const Harness& harness) {
  if (!harness.quick()) return {};
  return {.divisor = 128, .most_prompt = 16, .least_long = 800, .most_long = 1600};
}

ModelSpec spec(int n_layers) {
  return {.shape = "qwen3-0.6b",
          .n_layers = n_layers,
          .vocab = 4096,
          .context = 16384,
          .weights = WeightType::kQ8_0};
}

std::vector<TraceLine> trace_of(const Harness& harness) {
  return harness.settings().data.empty() ? poisson_trace(kTraceLength, kTraceSeed)
                                         : read_trace(harness.data(kTrace));
}

uint32_t median_short(const std::vector<TraceLine>& trace, const ChatMix& mix) {
  constexpr double kMany = 1000;
  std::vector<double> lengths;
  for (const ServedRequest& request : draw_requests(trace, mix.with_share(0), 1, kMany, 1))
    lengths.push_back(request.n_prompt);
  return static_cast<uint32_t>(median(std::move(lengths)));
}

std::shared_ptr<const Model> model_for(Harness& harness, const ModelSpec& spec, int context) {
  auto model = harness.model(spec);
  if (model->info().max_positions < context)
    throw BenchmarkError(invalid_argument("{} has a context of {}, expected at least {}",
                                          harness.name(spec), model->info().max_positions,
                                          context));
  return model;
}

// Seconds of a step that reads a prompt of n tokens, or the first n.
double prefill_seconds(const Predictor& predictor, uint32_t n) {
  return predictor.seconds({.rows = 1.0 * n, .outputs = 1, .keys = keys_seen(0, n)});
}

double whole_ms(double seconds) { return 1e-3 * std::ceil(1e3 * seconds); }

// By what a short prompt takes; and with them all contenders.
void set_budgets(const Harness& harness, const EngineOptions& engine, ServeRun& run) {
  const Predictor& predictor = run.served.predictor;
  run.n_short = median_short(run.trace, run.mix);
  run.budget = std::max(harness.choose(5e-3, kLeastBudget, kLeastBudget),
                        whole_ms(kBudget * prefill_seconds(predictor, run.n_short)));
  run.deadlines = {.ttft_slo = kShortDeadline * run.budget,
                   .ttft_per_work = kWorkDeadline,
                   .tpot_slo = kTokenDeadline * run.budget};
  // Chunks that take the budget in the middle of the longest prompt.
  const uint32_t static_rows = longest_chunk(predictor, run.budget, run.mix.most_long / 2,
                                             static_cast<uint32_t>(engine.step_rows));
  run.contenders = contenders(engine, run.budget, static_cast<int>(std::max(16u, static_rows)));
}

void note(const Harness& harness, const MeasuredSteps& steps, const EngineOptions& engine,
          ServeRun& run) {
  const RemainingTable work(run.served.predictor, run.budget, run.mix.most_long,
                            static_cast<uint32_t>(engine.step_rows));
  run.notes = {
      fmt::format(
          "Layers of {}: {}. {} Short prompts have {} to {} tokens, half of them "
          "{} at most; {}% of all are long, {} "
          "to {}, alone {} to {} s by prediction. Answers: {} to {} tokens.",
          harness.settings().model.empty() ? "a qwen3-0.6b shape"
                                           : harness.settings().model.string(),
          run.served.model->info().n_layers,
          harness.settings().data.empty()
              ? "Arrivals are a Poisson process and lengths are spread evenly: there is no --data."
              : fmt::format("Arrivals and lengths are those of azure-llm-2023-conv: times in "
                            "proportion, lengths / {}.",
                            run.mix.divisor),
          run.mix.least_prompt, run.mix.most_prompt, run.n_short, number(100 * run.mix.long_share),
          run.mix.least_long, run.mix.most_long, number(work.seconds(run.mix.least_long, 0)),
          number(work.seconds(run.mix.most_long, 0)), run.mix.least_answer, run.mix.most_answer),
      fmt::format("Deadlines of all: the first token after {} ms, or {} times the prompt's "
                  "predicted time where that is more; then one every {} ms on the mean. Budget of "
                  "a step: {} ms. What is not whole at the end counts as late.",
                  number(1e3 * run.deadlines.ttft_slo), number(run.deadlines.ttft_per_work),
                  number(1e3 * run.deadlines.tpot_slo), number(1e3 * run.budget)),
      steps.in_words() + "."};
}

constexpr Span kEnough = {.seconds = 3600, .end = 3600};

std::vector<ServedRequest> at_once(const ServeRun& run, int n_requests) {
  std::vector<ServedRequest> requests = run.requests(run.mix, 1, n_requests, 1);
  for (ServedRequest& request : requests) request.arrival = 0;
  return requests;
}

double capacity_of(const ServedWindow& window) {
  double last_token = 0;
  size_t n_answered = 0;
  for (const Outcome& outcome : window.outcomes) {
    if (outcome.tokens.empty()) continue;
    last_token = std::max(last_token, outcome.tokens.back());
    ++n_answered;
  }
  if (n_answered < window.requests.size())
    throw BenchmarkError(make_error(ErrorCode::kInternal, "{} of {} requests were answered",
                                    n_answered, window.requests.size()));
  return static_cast<double>(n_answered) / last_token;
}

}  // namespace

Span ServeRun::span(double for_seconds, double rate) const {
  const double most = 0.9 * static_cast<double>(trace.size()) / rate;
  const double seconds = std::min(head + for_seconds, most);
  return {.from = std::min(head, seconds / 4), .seconds = seconds, .end = seconds + tail};
}

std::vector<ServedRequest> ServeRun::requests(const ChatMix& of, double rate, double for_seconds,
                                              uint64_t seed) const {
  const RemainingTable work(served.predictor, budget, std::max(mix.most_long, of.most_long),
                            static_cast<uint32_t>(baseline().engine.step_rows));
  std::vector<ServedRequest> all = draw_requests(trace, of, rate, for_seconds, seed);
  for (ServedRequest& request : all) {
    const ScheduledRequest scheduled =
        scheduled_request(0, work.seconds(request.n_prompt, 0), {}, deadlines);
    request.deadlines = {.ttft_slo = scheduled.deadline, .tpot_slo = scheduled.tpot_slo};
  }
  return all;
}

ServeRun simulated_run(const Harness& harness, const Predictor& predictor) {
  ServeRun run{.trace = trace_of(harness),
               .mix = mix_of(harness),
               .served = {.predictor = predictor},
               .head = harness.quick() ? 0.2 : 6.0,
               .tail = harness.quick() ? 1.0 : 60.0,
               .simulated_seconds = harness.choose(20.0, 1200.0, 1200.0)};
  set_budgets(harness, {.context = static_cast<int>(run.mix.most_long + run.mix.most_answer)}, run);
  return run;
}

ServeRun serve_run(Harness& harness) {
  const ChatMix mix = mix_of(harness);
  EngineOptions engine{.threads = harness.threads(),
                       .context = static_cast<int>(mix.most_long + mix.most_answer)};
  std::shared_ptr<const Model> model;
  MeasuredSteps steps;
  size_t kv_token_bytes = 0;
  const auto measure = [&](int n_layers) {
    model = model_for(harness, spec(n_layers), engine.context);
    kv_token_bytes = kv_bytes_per_token(*model, engine.kv_type);
    engine.kv_memory = 2 * static_cast<size_t>(engine.context) * kv_token_bytes;
    steps = value_of(measure_steps(*model, engine, harness.choose(1, 10, 30)));
    return value_of(Predictor::from_json(steps.costs, "step_costs"));
  };
  Predictor predictor = measure(1);
  // A fast machine computes more layers.
  const double longest = prefill_seconds(predictor, mix.most_long);
  if (!harness.quick() && longest > 0 && longest < kLongest)
    predictor = measure(static_cast<int>(std::ceil(kLongest / longest)));
  engine.step_costs = steps.costs;
  if (!(predictor.seconds({.rows = 1}) > 0))
    throw BenchmarkError(
        make_error(ErrorCode::kUnavailable,
                   "costs cannot be fitted to steps as uneven as these: {} (hint: a "
                   "machine with less other work)",
                   steps.in_words()));
  ServeRun run{.trace = trace_of(harness),
               .mix = mix,
               .served = {.model = model,
                          .letter = value_of(model->encode(std::string(1, kLetter), false)).back(),
                          .predictor = predictor,
                          .kv_token_bytes = kv_token_bytes},
               .loads = harness.choose<std::vector<ServeRun::Load>>(
                   {{0.7, 1}}, {{0.7, 30, 2}}, {{0.5, 30}, {0.7, 300}, {0.9, 30}}),
               .head = harness.quick() ? 0.2 : 6.0,
               .tail = harness.quick() ? 1.0 : 60.0,
               .simulated_seconds = harness.choose(20.0, 600.0, 1200.0)};
  set_budgets(harness, engine, run);
  note(harness, steps, engine, run);
  return run;
}

void measure_capacities(ServeRun& run, int n_requests, int n_times) {
  const std::vector<ServedRequest> requests = at_once(run, n_requests);
  std::vector<double> measured;
  for (int i = 0; i < n_times; ++i)
    measured.push_back(
        capacity_of(serve_live(run.served, run.baseline(), requests, kEnough).window));
  run.capacity = median(std::move(measured));
  run.simulated_capacity = simulated_capacity(run, n_requests);
}

double simulated_capacity(const ServeRun& run, int n_requests) {
  return capacity_of(
      serve_simulated(run.served, run.baseline(), at_once(run, n_requests), kEnough));
}

std::vector<NamedFigures> figures_of(const ServeRun& run, const LiveGrid::Point& point) {
  std::vector<NamedFigures> all;
  for (size_t who = 0; who < point.windows.size(); ++who)
    all.push_back({run.contenders[who].name, figures_of(point.windows[who])});
  return all;
}

}  // namespace pando::lab
