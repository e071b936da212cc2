#include "engine/measure_steps.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "schedule/part_loads.h"
#include "schedule/predictor.h"

namespace pando {
namespace {

// Prompts of equal length that share no token. One prompt is computed in chunks of `rows`, several
// in one step. Then each of the prompt's answers decodes n_decodes tokens.
struct Shape {
  uint32_t rows, n_prompts, prompt_len, n_decodes;
  uint32_t n_answers = 1;

  uint32_t n_sequences() const { return n_prompts * n_answers; }
};

constexpr std::array<Shape, 9> kShapes = {{{8, 1, 40, 4},
                                           {32, 4, 8, 6},
                                           {32, 1, 160, 4},
                                           {64, 16, 4, 6},
                                           {128, 32, 4, 6},
                                           {512, 8, 64, 6},
                                           {128, 1, 768, 6},
                                           {512, 1, 512, 3},
                                           {512, 1, 2048, 6}}};
constexpr Shape kLongest = {512, 1, 8192, 6};  // if there is time left
// All rows begin in one part, and some go to others.
constexpr Shape kAnswers = {64, 1, 64, 8, 64};
constexpr int kRepeats = 3;
// Longest time for other engines between two steps. After more, they have displaced caches.
constexpr std::chrono::microseconds kDisturbing{200};

class Measuring {
  using Clock = std::chrono::steady_clock;

 public:
  Measuring(const OpenLoop& open, const EngineOptions& options, double seconds,
            const std::function<void()>& between)
      : open_(open), options_(options), seconds_(seconds), between_(between) {
    options_.policy = "fcfs";
    options_.step_budget = 0;
    options_.max_queue = 0;
    options_.kv_ahead = size_t{256} << 20;
    options_.kv_ahead_first = 0;
    options_.nice = 0;  // the loop runs on this thread, which workers must not stand behind
  }

  // Repeats [begin, end).
  Status run(Shape shape, int begin, int end) {
    LoopOptions loop_options{.engine = options_};
    loop_options.depth = 1;  // each step takes its own time
    loop_options.engine.step_rows = static_cast<int>(shape.rows);
    Result<std::unique_ptr<EngineLoop>> loop = open_(loop_options);
    if (!loop) return loop.error();
    const auto context = static_cast<uint32_t>((*loop)->options().context);
    shape.n_decodes = std::min(shape.n_decodes, context - 1);
    // If memory is short, the shape shrinks until all its prompts fit at once, so no step waits.
    const ExecutorFacts& facts = (*loop)->executor().facts();
    experts_ = {facts.n_experts, facts.n_used_experts};
    ranks_ = (*loop)->ranks();
    const size_t n_slots = facts.n_slots;
    if (n_slots > 0 && n_slots < 2 * size_t{shape.n_sequences()}) return {};
    const auto page = static_cast<uint32_t>(loop_options.page_len);
    const size_t n_pages = (*loop)->kv_capacity() / page;
    const auto room =
        static_cast<uint32_t>(std::min(n_pages / shape.n_sequences() * page, (*loop)->longest()));
    if (room < shape.n_decodes + 2) return {};
    shape.prompt_len = std::min(shape.prompt_len, room - 1 - shape.n_decodes);
    while ((*loop)->prepare()) make_way();  // as an engine that has been at work
    for (int repeat = begin; repeat < end && !is_over(); ++repeat)
      if (Status status = run(**loop, shape, repeat); !status) return status;
    return {};
  }

  bool is_over() const {
    const bool few = n_repeats_ < MeasuredSteps::kFewestRepeats;  // a large model's steps
    const double most = few ? MeasuredSteps::kMostTimes * seconds_ : seconds_;
    return taken() > most && !samples_.empty();
  }
  // True if the shape's prompts would end in time at the time per row of the largest step so far.
  bool has_time_for(const Shape& shape) const {
    const auto largest = std::ranges::max_element(
        samples_, {}, [](const StepSample& sample) { return sample.features.rows; });
    if (largest == samples_.end()) return true;
    const double rows = shape.n_prompts * shape.prompt_len;
    return taken() + largest->seconds / largest->features.rows * rows < seconds_;
  }
  const std::vector<StepSample>& samples() const { return samples_; }
  const ExpertCounts& experts() const { return experts_; }
  const RankShape& ranks() const { return ranks_; }

 private:
  double taken() const {
    return std::chrono::duration<double>(Clock::now() - start_ - of_others_).count();
  }

  // Lets other engines compute. True if they took long.
  bool make_way() {
    if (!between_) return false;
    const Clock::time_point begin = Clock::now();
    between_();
    const Clock::duration time = Clock::now() - begin;
    of_others_ += time;
    return time > kDisturbing;
  }

  // The isolation key keeps repeats from sharing.
  Status run(EngineLoop& loop, const Shape& shape, int repeat) {
    for (uint32_t i = 0; i < shape.n_prompts; ++i) {
      Request request{.isolation_key = static_cast<uint64_t>(repeat)};
      for (uint32_t at = 0; at < shape.prompt_len; ++at)
        request.tokens.push_back(static_cast<Token>((i + at * 7) % loop.executor().facts().vocab));
      request.sampling = {.max_tokens = static_cast<int>(1 + shape.n_decodes),
                          .temperature = shape.n_answers > 1 ? 1.0 : 0.0,  // answers part
                          .n = static_cast<int>(shape.n_answers),
                          .ignore_eos = true};
      if (Status status = loop.submit(i + 1, std::move(request), [](const Event&) {}); !status)
        return status;
    }
    // The first step of a kind finds caches as another kind or another engine left them and takes
    // up to twice as long with a small model: it does not count where others follow.
    const auto keep = [&](const StepSample& sample, bool is_first, bool is_last) {
      if (is_first && !is_last) return;
      samples_.push_back(sample);
      n_repeats_ += repeat > 0;
    };
    for (uint32_t n_done = 0; n_done < shape.prompt_len && !is_over();) {
      const uint32_t n = std::min(shape.rows, shape.prompt_len - n_done);
      const bool is_last = n_done + n == shape.prompt_len, is_first = make_way() || n_done == 0;
      keep(step(loop, shape, n_done, n, is_last), is_first, is_last);
      n_done += n;
    }
    for (uint32_t i = 0; i < shape.n_decodes && !is_over(); ++i) {
      const bool is_first = make_way() || i == 0;
      keep(step(loop, shape, shape.prompt_len + i, 1, true), is_first, i + 1 == shape.n_decodes);
    }
    for (uint32_t i = 0; i < shape.n_prompts; ++i) loop.cancel(i + 1);
    loop.deliver_events();
    return {};
  }

  // Each prompt goes on by n rows after n_done, or each of its answers by one. Prompts begin in one
  // part after another.
  static StepSample step(EngineLoop& loop, const Shape& shape, uint32_t n_done, uint32_t n,
                         bool speaks) {
    const double before = loop.stats().step_s;
    loop.step();
    const double seconds = loop.stats().step_s - before;
    const uint32_t n_paths = n_done < shape.prompt_len ? shape.n_prompts : shape.n_sequences();
    const uint32_t n_shared = std::min(n_done, shape.prompt_len);
    PartLoads loads(loop.ranks());
    for (uint32_t i = 0; i < n_paths; ++i) {
      const uint32_t part = i % shape.n_prompts % loop.ranks().n_parts;
      loads.add_rows(part, n_done, n);
      loads.add_reads(part, n_shared, n_done - n_shared);
    }
    for (uint32_t i = 0; i < shape.n_prompts; ++i)
      loads.add_reads(i % loop.ranks().n_parts, 0, n_shared);
    const double n_each = n_paths;
    return {loads.of_busiest({.rows = n_each * n,
                              .outputs = speaks ? static_cast<double>(shape.n_sequences()) : 0,
                              .keys = n_each * keys_seen(n_done, n),
                              .reads = n_each * (n_done - n_shared) + shape.n_prompts * n_shared}),
            seconds};
  }

  const OpenLoop& open_;
  EngineOptions options_;
  double seconds_;
  const std::function<void()>& between_;
  Clock::time_point start_ = Clock::now();
  Clock::duration of_others_{};  // time of other engines since then
  std::vector<StepSample> samples_;
  size_t n_repeats_ = 0;
  ExpertCounts experts_;  // of the model
  RankShape ranks_;
};

}  // namespace

Result<MeasuredSteps> measure_steps(const OpenLoop& open, const EngineOptions& options,
                                    double seconds, const std::function<void()>& between) {
  Measuring measuring(open, options, seconds, between);
  // Once first: a size that was never measured is guessed worse than one that was measured once.
  for (const Shape& shape : kShapes)
    if (measuring.has_time_for(shape))
      if (Status status = measuring.run(shape, 0, 1); !status) return status.error();
  if (measuring.ranks().n_parts > 1)
    if (Status status = measuring.run(kAnswers, 0, kRepeats); !status) return status.error();
  for (const Shape& shape : kShapes)
    if (!measuring.is_over())
      if (Status status = measuring.run(shape, 1, kRepeats); !status) return status.error();
  if (measuring.has_time_for(kLongest))
    if (Status status = measuring.run(kLongest, 0, 1); !status) return status.error();
  Result<Predictor> predictor =
      fit_predictor(measuring.samples(), measuring.experts(), measuring.ranks());
  if (!predictor) return predictor.error();
  const FitReport report = report_fit(*predictor, measuring.samples());
  return MeasuredSteps{.costs = predictor->to_json(),
                       .median_error = report.median_error,
                       .repeat_noise = report.repeat_noise,
                       .n_steps = report.n_samples,
                       .n_repeats = report.n_repeats};
}

}  // namespace pando
