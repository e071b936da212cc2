// Prepacking: what bins look like, what they predict, what they need (figures 5, 6 and 9).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/tokens.h"
#include "lab/data/file_names.h"
#include "lab/data/prompts.h"
#include "lab/papers/own_process.h"
#include "lab/papers/packing.h"
#include "lab/papers/papers.h"
#include "lab/papers/prepacking.h"
#include "lab/papers/process_memory.h"

namespace pando::lab {
namespace {

std::vector<uint32_t> lengths_of(const std::vector<std::vector<Token>>& prompts) {
  std::vector<uint32_t> lengths;
  for (const auto& prompt : prompts) lengths.push_back(static_cast<uint32_t>(prompt.size()));
  return lengths;
}

void run_prepacking_figure_5(Harness& harness) {
  const LengthMix mix = mmlu_mix(harness, TextTokens(harness, 1 << 30), 1000);
  const std::vector<uint32_t> lengths = lengths_of(sample_of(mix.prompts, kPrepackingBatch, 5));
  const Packing packing = pack(lengths);
  Table table{
      .title = fmt::format("A batch of 16 prompts of {} in bins of {} tokens", mix.name,
                           packing.capacity),
      .columns = {"bin", "prompt by number in the bin, pads as dots", "tokens",
                  "positions restart at", "filled %"},
      .notes = {fmt::format("r/k = {} / {}; padded batches compute {} tokens, dense bins "
                            "{}, ragged ones {}.",
                            packing.bins.size(), lengths.size(), lengths.size() * packing.capacity,
                            packing.bins.size() * packing.capacity,
                            std::accumulate(lengths.begin(), lengths.end(), size_t{0}))}};
  for (const std::vector<uint32_t>& bin : packing.bins) {
    std::string restarts;
    uint32_t at = 0;
    for (const uint32_t length : bin) {
      restarts += fmt::format("{}{}", restarts.empty() ? "" : ", ", at);
      at += length;
    }
    table.add({std::to_string(table.rows.size() + 1), bin_line(bin, packing.capacity, 48),
               fmt::format("{}", fmt::join(bin, " + ")), restarts,
               number(100.0 * at / packing.capacity)});
  }
  harness.show(table);
  harness.show_svg(to_svg(packing, table.title));
}

// One workload in a process of its own.
struct MemoryPeak {
  double resident = kNotMeasured, kv = kNotMeasured, seconds = 0;
  std::string why_not;
};
MemoryPeak peak_of(const Harness& harness, const std::shared_ptr<const Model>& model,
                   const std::string& sharing, const std::vector<Request>& requests) {
  const nlohmann::json measured = in_own_process([&] {
    nlohmann::json result;
    const uint64_t peak = value_of(peak_memory_of([&] {
      const auto engine = value_of(Engine::open(
          model, {.sharing = sharing, .threads = harness.threads(), .max_running = 4096}));
      if (auto answers = engine->complete_all(requests); !answers)
        result["why_not"] = answers.error().message();
      result["kv"] = engine->stats().kv_bytes_peak;
      result["seconds"] = engine->stats().step_s;
    }));
    result["resident"] = peak;
    return result;
  });
  if (measured.contains("why_not")) return {.why_not = measured.at("why_not")};
  return {.resident = measured.at("resident"),
          .kv = measured.at("kv"),
          .seconds = measured.at("seconds")};
}

// One batch of k prompts.
std::string sharing_for(const std::string& planner, size_t k) {
  if (planner == "tree") return planner;
  return fmt::format("{}{}batch={},rows=1048576", planner,
                     planner.find(':') == std::string::npos ? ':' : ',', k);
}

std::vector<Request> prompts_for(const std::string& planner, const LengthMix& mix, size_t k) {
  if (planner != "length_ordered") return first_tokens(sample_of(mix.prompts, k, k), 0);
  // k neighbours of the sorted sample, from its middle.
  std::vector<std::vector<Token>> prompts = mix.prompts;
  std::ranges::stable_sort(prompts, {}, &std::vector<Token>::size);
  prompts.erase(prompts.begin(),
                prompts.begin() + static_cast<std::ptrdiff_t>((prompts.size() - k) / 2));
  prompts.resize(k);
  return first_tokens(prompts, 0);
}

void run_prepacking_figure_6(Harness& harness) {
  const ModelSpec spec = prepacking_spec(harness);
  const auto model = harness.model(spec);
  Table table{
      .title =
          fmt::format("Peak memory of a prefill, MiB beside the weights, {}", harness.name(spec)),
      .columns = {"data set", "batch"},
      .notes = {"In brackets: of these, pages of keys and values. What is resident, as the "
                "system counts it; medians. The paper: on a GPU of 48 GB padded batches run out of "
                "memory at batches up to 16 times smaller. Here padded prompts have no "
                "keys and values of pads, so the difference is what a pass needs.",
                fmt::format("`tree` works in steps of {} rows, the others take a batch in one "
                            "pass: a part of the difference to `tree` is that.",
                            EngineOptions{}.step_rows),
                "Batches are random, but those of length_ordered: neighbours from the middle of "
                "the sorted sample, which are shorter than the longest of a random batch."}};
  Chart chart{
      .title = table.title, .x_label = "batch", .y_label = "MiB", .log_x = true, .log_y = true};
  const char* names[] = {"padded", "length_ordered", "prepacked:dense", "prepacked", "tree"};
  for (const char* name : names) table.columns.emplace_back(name);
  const auto sizes = harness.choose<std::vector<size_t>>({4, 16}, {8, 32}, {4, 16, 64});
  std::vector<LengthMix> mixes = length_mixes(harness, model->info().vocab, 1000);
  mixes.resize(harness.choose<size_t>(1, 2, 4));
  for (const LengthMix& mix : mixes) {
    chart.series.clear();
    for (const char* name : names) chart.series.push_back({name, {}});
    for (const size_t k : sizes) {
      std::vector<std::vector<double>> resident(std::size(names)), kv(std::size(names));
      harness.in_turn(std::size(names), [&](size_t i, int repetition) {
        const MemoryPeak peak =
            peak_of(harness, model, sharing_for(names[i], k), prompts_for(names[i], mix, k));
        if (repetition > 0) {
          resident[i].push_back(peak.resident);
          kv[i].push_back(peak.kv);
        } else if (!peak.why_not.empty()) {
          table.notes.push_back(fmt::format("{}, {}: {}", mix.name, names[i], peak.why_not));
        }
        return peak.seconds;
      });
      std::vector<std::string> cells = {mix.name, std::to_string(k)};
      for (size_t i = 0; i < std::size(names); ++i) {
        constexpr double kMiB = 1 << 20;
        const double most = median(resident[i]) / kMiB;
        cells.push_back(fmt::format("{} ({})", number(most), number(median(kv[i]) / kMiB)));
        chart.series[i].points.emplace_back(static_cast<double>(k), most);
      }
      table.add(std::move(cells));
    }
    chart.title = fmt::format("{}: {}", mix.name, table.title);
    harness.show(chart);
  }
  harness.show(table);
}

void run_prepacking_figure_9(Harness& harness) {
  const ModelSpec spec = prepacking_spec(harness);
  const auto model = harness.model(spec);
  const int longest = harness.choose(64, 256, 512);
  const int n_batches = harness.choose(4, 24, 48);
  std::vector<Packing> packings(static_cast<size_t>(n_batches) + 1);  // by repetition
  std::vector<double> deviations(packings.size());
  const std::vector<Lane> lanes = harness.contest(
      {{.name = "padded", .sharing = "padded", .model = model},
       {.name = "prepacked:dense", .sharing = "prepacked:dense", .model = model},
       {.name = "prepacked", .sharing = "prepacked", .model = model}},
      [&](int repetition) {
        std::mt19937_64 random(static_cast<uint64_t>(repetition) + 1);
        RandomTokens tokens(static_cast<uint64_t>(repetition) + 1, model->info().vocab);
        Workload workload;
        std::vector<uint32_t> lengths;
        double sum = 0;
        for (size_t i = 0; i < kPrepackingBatch; ++i) {
          lengths.push_back(1 + static_cast<uint32_t>(random() % static_cast<uint64_t>(longest)));
          sum += lengths.back();
          workload.timed.push_back(request_of(tokens(static_cast<int>(lengths.back())), 1));
        }
        const auto batch = static_cast<size_t>(repetition);
        packings[batch] = pack(lengths);
        deviations[batch] = packings[batch].capacity - sum / kPrepackingBatch;
        return workload;
      },
      n_batches);
  Table table{
      .title = fmt::format("{} batches of 16 prompts of 1 to {} tokens, {}", n_batches, longest,
                           harness.name(spec)),
      .columns = {"planner", "times faster, mean", "least", "most", "correlation with k/r",
                  "with m - L/k", "measured / predicted k/r, median"},
      .notes = {
          "The paper (Llama2 1.3B, lengths of 1 to 512, appendix K; batches of 16 by its caption, "
          "of 32 by its text) shows both to predict the speed-up, in plots; for ragged bins k/r is "
          "a bound from below of the token ratio."}};
  Chart by_ratio{.title = "Times faster than padded", .x_label = "r/k", .y_label = "times"};
  Chart by_deviation{.title = "Times faster than padded", .x_label = "m - L/k", .y_label = "times"};
  note_missing(table, harness.name(spec), lanes);
  for (size_t i = 1; i < lanes.size(); ++i) {
    if (lanes[i].samples.empty()) continue;
    std::vector<std::pair<double, double>> with_ratio, with_deviation, of_ratio;
    std::vector<double> times, predicted;
    for (size_t batch = 0; batch < lanes[i].samples.size(); ++batch) {
      // The first workload was for warming up.
      const double r_k = static_cast<double>(packings[batch + 1].bins.size()) / kPrepackingBatch;
      times.push_back(lanes[0].sample(batch).seconds / lanes[i].samples[batch].seconds);
      predicted.push_back(times.back() * r_k);
      with_ratio.emplace_back(1 / r_k, times.back());
      of_ratio.emplace_back(r_k, times.back());
      with_deviation.emplace_back(deviations[batch + 1], times.back());
    }
    double sum = 0;
    for (const double t : times) sum += t;
    table.add({lanes[i].name, number(sum / static_cast<double>(times.size())),
               number(std::ranges::min(times)), number(std::ranges::max(times)),
               number(correlation(with_ratio)), number(correlation(with_deviation)),
               number(median(predicted))});
    std::ranges::sort(of_ratio);
    std::ranges::sort(with_deviation);
    by_ratio.series.push_back({lanes[i].name, of_ratio});
    by_deviation.series.push_back({lanes[i].name, with_deviation});
  }
  harness.show(table);
  harness.show(by_ratio);
  harness.show(by_deviation);
}

}  // namespace

std::vector<Benchmark> prepacking_bins_benchmarks() {
  return {{{"prepacking-figure-5",
            "how a batch of real prompts is packed",
            {.files = {kQwenTokenizer, kMmlu}, .threads = false}},
           run_prepacking_figure_5},
          {{"prepacking-figure-6",
            "peak memory of a prefill",
            {.model = true, .files = length_mix_files()}},
           run_prepacking_figure_6},
          {{"prepacking-figure-9", "speed-up by how lengths differ", {.model = true}},
           run_prepacking_figure_9}};
}

}  // namespace pando::lab
