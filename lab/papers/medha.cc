// Figures 3 and 4 of Medha: what chunks of a long prefill cost, and what they do to answers beside
// it.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/errors.h"
#include "bench/tokens.h"
#include "lab/papers/papers.h"
#include "pando/step_costs.h"
#include "schedule/predictor.h"

namespace pando::lab {
namespace {

ModelSpec long_context_spec() {
  return {.shape = "qwen3-0.6b",
          .n_layers = 1,
          .vocab = 4096,
          .context = 65536,
          .weights = WeightType::kAsStored};
}

std::vector<int> chunk_sizes(const Harness& harness) {
  return harness.choose<std::vector<int>>({32, 128, 512}, {32, 64, 128, 512, 2048},
                                          {32, 40, 64, 128, 256, 512, 1024, 2048});
}

void run_medha_figure_3(Harness& harness) {
  const ModelSpec spec = long_context_spec();
  const auto model = harness.model(spec);
  const std::vector<int> chunks = chunk_sizes(harness);
  std::vector<Contestant> contestants;
  for (const int rows : chunks)
    contestants.push_back({.name = fmt::format("{} rows", rows),
                           .sharing = "tree",
                           .model = model,
                           .step_rows = rows});
  Table table{
      .title = fmt::format("Medha figure 3: prefill by rows of a chunk, {}", harness.name(spec)),
      .columns = {"tokens", "chunk", "seconds", "tokens/s", "times that of the largest",
                  "of it, products", "attention", "attention %"},
      .notes = {"The paper (b): Llama-3 70B on H100, a million tokens: chunks of 32 take "
                "1.11 times what chunks of 2,048 take."}};
  Chart chart{.title = table.title,
              .x_label = "rows of a chunk",
              .y_label = "times that of the largest",
              .log_x = true};
  for (const int n_tokens : harness.choose<std::vector<int>>({1024}, {1024, 4096}, {4096, 16384})) {
    const std::vector<Lane> lanes = harness.contest(contestants, [&](int repetition) {
      RandomTokens random(static_cast<uint64_t>(repetition) + 1, model->info().vocab);
      return Workload{.timed = {request_of(random(n_tokens), 1)}};
    });
    note_missing(table, fmt::format("{} tokens", n_tokens), lanes);
    chart.series.push_back({fmt::format("{} tokens", n_tokens), {}});
    const Lane& largest = lanes.back();
    for (size_t i = 0; i < lanes.size(); ++i) {
      const double linear = lanes[i].seconds_of(&EngineStats::linear_s);
      const double attention = lanes[i].seconds_of(&EngineStats::attention_s);
      const double times = times_faster(largest, lanes[i]);
      table.add({std::to_string(n_tokens), std::to_string(chunks[i]), number(lanes[i].seconds()),
                 number(n_tokens / lanes[i].seconds()), number(times),
                 number(linear / largest.seconds_of(&EngineStats::linear_s)),
                 number(attention / largest.seconds_of(&EngineStats::attention_s)),
                 number(100 * attention / lanes[i].seconds())});
      chart.series.back().points.emplace_back(chunks[i], times);
    }
  }
  harness.show(table);
  harness.show(chart);
}

// When the tokens of an answer came; every token is a letter, so that each gives an event.
class Running {
 public:
  // Events may still come when an answer has been cancelled.
  static Listener listener(const std::shared_ptr<Running>& running) {
    return [running](const Event& event) {
      const std::lock_guard lock(running->mutex_);
      if (!event.text.empty()) running->times_.push_back(std::chrono::steady_clock::now());
      if (event.completion || event.error) running->is_over_ = true;
      running->came_.notify_all();
    };
  }
  // True once n tokens have come; false where the answer is over before.
  bool wait_for(size_t n) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return is_over_ || times_.size() >= n; });
    return times_.size() >= n;
  }
  // Seconds between neighbouring tokens that both came since `from`.
  std::vector<double> intervals_since(std::chrono::steady_clock::time_point from) {
    const std::lock_guard lock(mutex_);
    std::vector<double> seconds;
    for (size_t i = 1; i < times_.size(); ++i)
      if (times_[i - 1] >= from)
        seconds.push_back(std::chrono::duration<double>(times_[i] - times_[i - 1]).count());
    return seconds;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::chrono::steady_clock::time_point> times_;
  bool is_over_ = false;
};

struct Mixed {
  double prefill_s;
  std::vector<double> intervals;  // of the answer meanwhile, seconds
};

// A prompt of n_tokens while an answer behind a short one goes on.
Mixed prefill_beside_answer(Engine& engine, int n_tokens, RandomTokens& random) {
  const auto running = std::make_shared<Running>();
  Request answer = request_of(random(64), n_tokens);
  answer.sampling.logit_bias = {{'a', 1e4}};
  answer.tpot_slo = 3600;  // so that nothing but the budget limits a step
  const RequestId id = value_of(engine.submit(answer, Running::listener(running)));
  if (!running->wait_for(8))
    throw BenchmarkError(make_error(ErrorCode::kInternal, "an answer ended after few tokens"));
  const auto start = std::chrono::steady_clock::now();
  value_of(engine.complete(request_of(random(n_tokens), 1)));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  Mixed mixed{seconds.count(), running->intervals_since(start)};
  engine.cancel(id);
  return mixed;
}

// A way to cut the prompt.
struct Chunks {
  std::string name;
  EngineOptions options;
};

// Fixed numbers of rows; and for each budgets of time, what such a chunk takes in the middle of the
// prompt.
std::vector<Chunks> chunks_of(const Harness& harness, const EngineOptions& base,
                              const MeasuredSteps& steps, int n_tokens) {
  const std::vector<int> sizes = chunk_sizes(harness);
  const Predictor predictor = value_of(Predictor::from_json(steps.costs, "step_costs"));
  std::vector<Chunks> all;
  for (const int rows : sizes) {
    all.push_back({fmt::format("static, {} rows", rows), base});
    all.back().options.step_rows = rows;
  }
  for (const int rows : sizes) {
    if (2 * rows > n_tokens) continue;
    const double budget = predictor.seconds(
        {.rows = 1.0 * rows, .keys = keys_seen(n_tokens / 2.0, rows), .reads = n_tokens / 2.0});
    all.push_back({fmt::format("adaptive, {} ms", number(1e3 * budget)), base});
    all.back().options.step_rows = sizes.back();
    all.back().options.step_budget = budget;
    all.back().options.step_costs = steps.costs;
  }
  return all;
}

// In percent, of steps by time since `before`.
double prediction_error(const EngineStats& stats, const EngineStats& before) {
  const EngineStats since = stats.since(before);
  return since.timed_s > 0 ? 100 * since.prediction_error_s / since.timed_s : kNotMeasured;
}

void run_medha_figure_4(Harness& harness) {
  const ModelSpec spec = long_context_spec();
  const auto model = harness.model(spec);
  const int n_tokens = harness.choose(1024, 4096, 16384);
  // For the prompt, the answer, and what is left of the last ones.
  const EngineOptions base{
      .threads = harness.threads(),
      .kv_memory = 4 * static_cast<size_t>(n_tokens) * kv_bytes_per_token(*model, KvType::kF16)};
  const MeasuredSteps steps = value_of(measure_steps(*model, base, harness.choose(2, 15, 30)));
  Table table{
      .title = fmt::format("Medha figure 4: a prompt of {} tokens beside an answer, in chunks of a "
                           "size (a) or within a budget of time (b), {}",
                           n_tokens, harness.name(spec)),
      .columns = {"chunks", "prefill, tokens/s", "ms between tokens, P50", "P90", "P99", "largest",
                  "tokens meanwhile", "prediction error %"},
      .notes = {"Intervals are those of all repetitions. A budget is the predicted time of a chunk "
                "in the middle of the prompt, of each of the sizes above; steps leave a margin of "
                "it, which grows with the errors of the predictor.",
                steps.in_words() + " (the fit; the column has the mean error in use).",
                "The paper shows this trade without numbers. Elsewhere: a million tokens in "
                "chunks of 512, Llama-3 8B on 8 H100s, hold answers up for 250 ms a "
                "token."}};
  Chart chart{.title = table.title,
              .x_label = "ms between tokens, P90",
              .y_label = "tokens of the prompt a second",
              .log_x = true};
  chart.series = {{"static chunks", {}}, {"adaptive chunks", {}}};
  const std::vector<Chunks> all = chunks_of(harness, base, steps, n_tokens);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const Chunks& chunks : all) engines.push_back(value_of(Engine::open(model, chunks.options)));
  std::vector<std::vector<double>> prefill_s(all.size()), intervals(all.size());
  std::vector<EngineStats> before(all.size());
  harness.in_turn(all.size(), [&](size_t i, int repetition) {
    RandomTokens random(static_cast<uint64_t>(repetition) + 1, model->info().vocab);
    const Mixed mixed = prefill_beside_answer(*engines[i], n_tokens, random);
    if (repetition > 0) {
      prefill_s[i].push_back(mixed.prefill_s);
      intervals[i].insert(intervals[i].end(), mixed.intervals.begin(), mixed.intervals.end());
    } else {
      before[i] = engines[i]->stats();
    }
    return mixed.prefill_s;
  });
  for (size_t i = 0; i < all.size(); ++i) {
    const double rate = n_tokens / median(prefill_s[i]);
    std::vector<std::string> cells = {all[i].name, number(rate)};
    for (const double part : {0.5, 0.9, 0.99, 1.0})
      cells.push_back(number(1e3 * quantile(intervals[i], part)));
    cells.push_back(number(static_cast<double>(intervals[i].size()) /
                           static_cast<double>(prefill_s[i].size())));
    cells.push_back(number(prediction_error(engines[i]->stats(), before[i])));
    table.add(std::move(cells));
    chart.series[all[i].options.step_budget > 0].points.emplace_back(
        1e3 * quantile(intervals[i], 0.9), rate);
  }
  harness.show(table);
  harness.show(chart);
}

}  // namespace

std::vector<Benchmark> medha_benchmarks() {
  return {{{"medha-figure-3", "prefill of long contexts by rows of a chunk", {.model = true}},
           run_medha_figure_3},
          {{"medha-figure-4",
            "chunks: prefill's throughput against the latency of an answer",
            {.model = true}},
           run_medha_figure_4}};
}

}  // namespace pando::lab
