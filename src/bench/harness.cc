#include "bench/harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "api/model.h"
#include "api/model_access.h"
#include "base/errors.h"
#include "base/machine.h"
#include "base/write_file.h"
#include "bench/tokens.h"
#include "contract/device.h"
#include "engine/options.h"
#include "engine/technique.h"
#include "pando/make_model.h"
#include "pando/version.h"

namespace pando::bench {
namespace {

namespace fs = std::filesystem;

// Name of the weight type; models with random weights are stored as bf16.
std::string_view name_of(WeightType type) {
  return type == WeightType::kAsStored ? "bf16" : weight_type_name(type);
}

// Enough for a workload and little more, so that the uncounted repetition touches almost all of it:
// the first touch of memory takes time that must not be measured.
size_t kv_memory_for(const Contestant& who, const Workload& workload) {
  constexpr size_t kPartialPages = 96;  // positions beside a sequence's tokens, in its own pages
  std::vector<Request> all = workload.timed;
  if (shares_tokens(who.sharing))  // of no use to others
    all.insert(all.end(), workload.warm.begin(), workload.warm.end());
  size_t answers = 0;
  for (const Request& request : all)
    answers += static_cast<size_t>(request.sampling.n) *
               (static_cast<size_t>(request.sampling.max_tokens) + kPartialPages);
  size_t prompts = 0;
  if (who.sharing.starts_with("stacked")) {  // holds a stack's shared tokens once, and a batch's
                                             // pads
    constexpr size_t kBatchCells = 8192;
    prompts = std::max(distinct_tokens(all), kBatchCells);
  } else {
    prompts = shares_tokens(who.sharing) ? distinct_tokens(all) : all_tokens(all);
  }
  const size_t tokens = prompts + answers;
  return tokens * kv_bytes_per_token(*who.model, who.kv_type) / 20 * 21;
}

Result<Sample> timed(Engine& engine, const Workload& workload, bool shares) {
  if (shares && !workload.warm.empty())  // of no use to others
    if (auto answers = engine.complete_all(workload.warm); !answers) return answers.error();
  const EngineStats before = engine.stats();
  const auto start = std::chrono::steady_clock::now();
  auto completions = engine.complete_all(workload.timed);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!completions) return completions.error();
  return Sample{seconds.count(), engine.stats().since(before), std::move(*completions)};
}

Workload part_for(const Contestant& who, Workload workload) {
  if (who.at_most > 0 && workload.timed.size() > who.at_most) workload.timed.resize(who.at_most);
  return workload;
}

}  // namespace

void wait_until_ready(const Engine& engine) {
  const size_t all =  // whole pages, which may be much less than a small budget
      engine.kv_capacity() * kv_bytes_per_token(engine.model(), engine.options().kv_type);
  while (engine.stats().kv_ready_bytes < std::min(all, engine.options().kv_ahead))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

bool shares_tokens(const std::string& sharing) {
  constexpr int kAnyTile = 64;
  const Result<Technique> technique = make_technique(sharing, kAnyTile);
  return technique && technique->planner->shares_tokens();
}

std::vector<size_t> parts_of(uint64_t free, std::vector<size_t> wanted) {
  std::vector<size_t*> by_size;
  for (size_t& bytes : wanted) by_size.push_back(&bytes);
  std::ranges::sort(by_size, {}, [](const size_t* bytes) { return *bytes; });
  for (size_t i = 0; i < by_size.size(); ++i) {
    *by_size[i] = std::min<size_t>(*by_size[i], free / (by_size.size() - i));
    free -= *by_size[i];
  }
  return wanted;
}

const Sample& Lane::sample(size_t i) const {
  if (i >= samples.size())
    throw BenchmarkError(
        in_file(name, make_error(ErrorCode::kUnavailable, "{}",
                                 why_not.empty() ? "it was not timed as often" : why_not)));
  return samples[i];
}

std::vector<double> Lane::all_seconds() const {
  std::vector<double> all;
  for (const Sample& sample : samples) all.push_back(sample.seconds);
  return all;
}

double Lane::seconds() const { return median(all_seconds()); }

double Lane::requests_per_second() const {
  return samples.empty() ? kNotMeasured
                         : static_cast<double>(samples[0].completions.size()) / seconds();
}

double Lane::seconds_of(double EngineStats::*part) const {
  std::vector<double> all;
  for (const Sample& sample : samples) all.push_back(sample.stats.*part);
  return median(std::move(all));
}

const Sample& Lane::median_sample() const {
  std::vector<const Sample*> all;
  for (const Sample& sample : samples) all.push_back(&sample);
  std::sort(all.begin(), all.end(),
            [](const Sample* a, const Sample* b) { return a->seconds < b->seconds; });
  return *all[all.size() / 2];
}

double times_faster(const Lane& lane, const Lane& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(lane.samples.size(), other.samples.size()); ++i)
    ratios.push_back(other.samples[i].seconds_each() / lane.samples[i].seconds_each());
  return median(std::move(ratios));
}

void note_missing(Table& table, const std::string& what, const std::vector<Lane>& lanes) {
  for (const Lane& lane : lanes) {
    if (lane.samples.empty())
      table.notes.push_back(fmt::format("{}, {}: {}", what, lane.name, lane.why_not));
    if (lane.kv_given < lane.kv_wanted)
      table.notes.push_back(fmt::format(
          "{}, {}: had {} of {} MB for keys and values, more was not free; what it evicts, or what "
          "smaller batches share, it computes again",
          what, lane.name, lane.kv_given / 1000000, lane.kv_wanted / 1000000));
  }
}

Harness::Harness(std::string benchmark, const Settings& settings)
    : benchmark_(std::move(benchmark)), settings_(settings), threads_(settings.threads) {
  check(fill_in_threads(threads_));
  if (settings.out.empty()) return;  // else known now to be there, and not after an hour
  std::error_code error;
  fs::create_directories(settings.out, error);
  if (!fs::is_directory(settings.out, error))
    throw BenchmarkError(
        io_error("--out: '{}' is not a directory and cannot be made one", settings.out.string()));
}

std::shared_ptr<const Model> Harness::load(const fs::path& path, WeightType weights,
                                           bool all_rows) {
  const std::string key =
      fmt::format("{} {} {}", path.string(), static_cast<int>(weights), all_rows);
  std::shared_ptr<const Model>& model = models_[key];
  if (!model) {
    const ModelOptions options{.weights = weights, .threads = threads_};
    model = value_of(all_rows ? load_for_timing(path, options) : Model::load(path, options));
  }
  return model;
}

size_t Harness::cold_bytes() const { return quick() ? size_t{8} << 20 : bytes_beyond_caches(); }

std::string Harness::name(const ModelSpec& spec) const {
  if (!settings_.model.empty()) {
    const fs::path path = settings_.model.lexically_normal();
    const fs::path last = path.has_filename() ? path.filename() : path.parent_path().filename();
    return fmt::format("{}, {}", last.string(),
                       spec.weights == WeightType::kAsStored ? "as stored" : name_of(spec.weights));
  }
  return fmt::format(
      "{}{}{}, {}", spec.shape, spec.n_layers > 0 ? fmt::format(", {} layers", spec.n_layers) : "",
      spec.vocab > 0 ? fmt::format(", vocabulary {}", spec.vocab) : "", name_of(spec.weights));
}

std::shared_ptr<const Model> Harness::model(const ModelSpec& spec) {
  if (!settings_.model.empty()) return load(settings_.model, spec.weights);
  RandomModelOptions make{.shape = spec.shape, .tokenizer = spec.tokenizer};
  if (spec.n_layers > 0) make.n_layers = spec.n_layers;
  if (spec.vocab > 0) make.vocab = spec.vocab;
  if (spec.context > 0) make.max_positions = spec.context;
  make.out = settings_.cache /
             fmt::format("{}-{}-{}-{}-{}", spec.shape, spec.n_layers, spec.vocab, spec.context,
                         spec.tokenizer.empty() ? "bytes" : spec.tokenizer.filename().string());
  // The configuration is written last: a directory without one was not finished.
  if (!fs::exists(make.out / "config.json")) {
    std::error_code error;
    fs::create_directories(settings_.cache, error);
    if (error)
      throw BenchmarkError(
          io_error("--models: cannot make {}: {}", settings_.cache.string(), error.message()));
    fmt::print(stderr, "making {} with random weights in {}\n", spec.shape, make.out.string());
    const fs::path unfinished = make.out.string() + ".part";
    fs::remove_all(unfinished, error);
    const fs::path made = std::exchange(make.out, unfinished);
    check(make_random_model(make));
    fs::rename(unfinished, made, error);
    if (error)
      throw BenchmarkError(io_error("cannot write {}: {}", made.string(), error.message()));
    make.out = made;
  }
  return load(make.out, spec.weights, spec.n_layers > 0 && spec.all_rows);
}

fs::path Harness::data(std::string_view file) const { return settings_.data / file; }

int Harness::most_repetitions(int given) const { return given > 0 ? given : quick() ? 1 : 5; }

void Harness::in_turn(size_t n, const std::function<double(size_t who, int repetition)>& run,
                      int repetitions) {
  double seconds = 0;
  for (size_t who = 0; who < n; ++who) seconds += run(who, 0);
  constexpr double kLong = 10;
  int last = most_repetitions(repetitions);
  if (repetitions == 0 && seconds >= kLong) last = std::min(last, 3);
  for (int repetition = 1; repetition <= last; ++repetition) {
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(repetition)));
    for (const size_t who : order) run(who, repetition);
  }
}

std::vector<Lane> Harness::contest(const std::vector<Contestant>& contestants,
                                   const MakeWorkload& make, int repetitions, double hopeless) {
  // All that there can be: memory is for the largest.
  const auto all_of = [&](const MakeWorkload& maker) {
    std::vector<Workload> workloads;
    for (int i = 0; i <= most_repetitions(repetitions); ++i) workloads.push_back(maker(i));
    return workloads;
  };
  const std::vector<Workload> common = all_of(make);
  std::vector<std::vector<Workload>> own;  // by contestant; none: the common ones
  std::vector<size_t> kv_wanted;
  for (const Contestant& who : contestants) {
    own.push_back(who.own ? all_of(who.own) : std::vector<Workload>{});
    size_t most = 0;
    for (const Workload& workload : who.own ? own.back() : common)
      most = std::max(most, kv_memory_for(who, part_for(who, workload)));
    kv_wanted.push_back(most);
  }
  const uint64_t free = available_memory().value_or(uint64_t{8} << 30) / 5 * 4;
  const std::vector<size_t> kv_memory = parts_of(free, kv_wanted);
  const auto workload_for = [&](size_t i, int repetition) {
    const std::vector<Workload>& workloads = contestants[i].own ? own[i] : common;
    return part_for(contestants[i], workloads[static_cast<size_t>(repetition)]);
  };
  std::vector<Lane> lanes;
  for (size_t i = 0; i < contestants.size(); ++i)
    lanes.push_back(
        {.name = contestants[i].name, .kv_wanted = kv_wanted[i], .kv_given = kv_memory[i]});
  std::vector<std::unique_ptr<Engine>> engines(contestants.size());
  std::vector<std::optional<Sample>> first(contestants.size());
  const auto is_slower = [&](const Sample& sample, const Sample& than, double times) {
    return hopeless > 0 && sample.seconds_each() > times * than.seconds_each();
  };
  const auto is_far_behind = [&](size_t i) {
    return first[0] && is_slower(*first[i], *first[0], 10 * hopeless);
  };
  const auto begin = [&](size_t i) {
    const Contestant& who = contestants[i];
    Result<std::unique_ptr<Engine>> engine =
        Engine::open(who.model, {.sharing = who.sharing,
                                 .threads = threads_,
                                 .kv_memory = kv_memory[i],
                                 .kv_ahead = who.is_ready ? kv_memory[i] : 0,
                                 .kv_type = who.kv_type,
                                 .step_rows = who.step_rows,
                                 .max_running = who.max_running});
    if (engine) wait_until_ready(**engine);
    Result<Sample> sample = engine ? timed(**engine, workload_for(i, 0), shares_tokens(who.sharing))
                                   : Result<Sample>(engine.error());
    if (!sample) {
      lanes[i].why_not = sample.error().message();
      return 0.0;
    }
    first[i] = std::move(*sample);
    // The engine of one far behind goes, and its buffers, which for large passes are gigabytes.
    if (!is_far_behind(i)) engines[i] = std::move(*engine);
    return first[i]->seconds;
  };
  const auto go_on = [&](size_t i, int repetition) {
    std::vector<Sample>& samples = lanes[i].samples;
    if (first[i] && is_far_behind(i) && samples.empty()) samples.push_back(*first[i]);
    if (repetition > 1 && first[0] && engines[i] && is_slower(*first[i], *first[0], hopeless) &&
        is_slower(samples[0], lanes[0].samples[0], hopeless))
      engines[i].reset();
    if (!engines[i]) return 0.0;
    Result<Sample> sample =
        timed(*engines[i], workload_for(i, repetition), shares_tokens(contestants[i].sharing));
    if (!sample) throw BenchmarkError(sample.error());
    samples.push_back(std::move(*sample));
    return samples.back().seconds;
  };
  in_turn(
      contestants.size(),
      [&](size_t i, int repetition) { return repetition == 0 ? begin(i) : go_on(i, repetition); },
      repetitions);
  return lanes;
}

fs::path Harness::file_for(const char* extension, int& count) const {
  const std::string suffix = ++count > 1 ? fmt::format("-{}", count) : "";
  return settings_.out / fmt::format("{}{}.{}", benchmark_, suffix, extension);
}

void Harness::show(const Table& table) {
  fmt::print("{}\n", to_markdown(table));
  std::fflush(stdout);
  if (!settings_.out.empty()) check(write_file(file_for("csv", n_tables_), to_csv(table)));
}

void Harness::show(const Table& table, const Bars& bars) {
  show(table);
  show_svg(to_svg(table, bars));
}

void Harness::show(const Chart& chart) { show_svg(to_svg(chart)); }

void Harness::show_svg(const std::string& svg) {
  if (!settings_.out.empty() && !svg.empty()) check(write_file(file_for("svg", n_charts_), svg));
}

void Harness::footer() const {
  fmt::print("{}{} | {} | {} x {}, {}", benchmark_,
             quick()  ? ", quick"
             : full() ? ", full"
                      : "",
             build_commit(), threads_, processor_name(), devices().front()->isa_name("").value());
  if (const std::optional<double> others = other_work_.share())
    fmt::print(" | {:.1f}% of the processors' time went to others", 100 * *others);
  fmt::print("\n");
}

}  // namespace pando::bench
