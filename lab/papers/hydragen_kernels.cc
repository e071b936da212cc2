// Hydragen's figure 4: the attention operators alone.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "bench/timing.h"
#include "lab/papers/hydragen.h"
#include "lab/papers/level_work.h"

namespace pando::lab {

void run_hydragen_figure_4(Harness& harness) {
  const auto batches = harness.choose<std::vector<int>>({8}, {32, 256}, {64, 256, 1024});
  const auto prefixes = harness.choose<std::vector<int>>({256, 1024}, {1024, 4096, 16384},
                                                         {1024, 2048, 4096, 8192, 16384});
  const auto suffixes = harness.choose<std::vector<int>>({32}, {32, 256}, {32, 128, 512, 1024});
  const double most_bytes = harness.full() ? 3e9 : 5e8;  // of the keys and values of a layer
  ThreadPool pool(harness.threads());
  Table table{
      .title = fmt::format("Hydragen figure 4: attention of one decoding step, 8 query heads, 1 KV "
                           "head of 128, f16, {} threads",
                           harness.threads()),
      .columns = {"batch", "prefix", "suffix", "own copies, us", "own pages, us", "hydragen, us",
                  "tree, us", "hydragen / own copies", "tree / own copies", "hydragen / own pages",
                  "tree / own pages"},
      .notes = {
          "Speed-ups. Own copies: each sequence reads a prefix of its own, as the paper's "
          "FlashAttention does; x where these take too much memory. Own pages: each sequence "
          "by itself, over the same pages, as `prefix_cached` does; caches keep these "
          "between sequences.",
          "The paper (A100) prints no numbers beside its figure: the speed-up grows with batch "
          "and prefix and shrinks with the suffix; its introduction has over 16 times."}};
  Chart chart{.title = table.title,
              .x_label = "tokens of the prefix",
              .y_label = "times as fast as on own pages",
              .log_x = true};
  for (const int batch : batches) {
    for (const int suffix : suffixes) {
      const std::string of = fmt::format("batch {}, suffix {}", batch, suffix);
      Chart::Series tree{"tree, " + of, {}}, hydragen{"hydragen, " + of, {}};
      for (const int prefix : prefixes) {
        AttentionCase shape{.batch = batch, .prefix = prefix, .suffix = suffix, .n_heads = 8};
        AttentionWork work(shape, harness.cold_bytes());
        const LevelWork levels(shape, work);
        shape.own_copies = true;
        std::unique_ptr<AttentionWork> copies;
        if (shape.bytes() <= most_bytes)
          copies = std::make_unique<AttentionWork>(shape, harness.cold_bytes());
        std::vector<std::function<void()>> calls = {[&] { work.per_sequence(pool); },
                                                    [&] { levels.run(pool, work); },
                                                    [&] { work.shared(pool); }};
        if (copies) calls.emplace_back([&] { copies->per_sequence(pool); });
        const auto times = times_in_turn(harness.choose(0.02, 1.0, 2.0), calls);
        const auto against_copies = [&](size_t i) {
          return copies ? times_faster(times[i], times[3]) : kNotMeasured;
        };
        table.add({std::to_string(batch), std::to_string(prefix), std::to_string(suffix),
                   number(copies ? 1e6 * median(times[3]) : kNotMeasured),
                   number(1e6 * median(times[0])), number(1e6 * median(times[1])),
                   number(1e6 * median(times[2])), number(against_copies(1)),
                   number(against_copies(2)), number(times_faster(times[1], times[0])),
                   number(times_faster(times[2], times[0]))});
        hydragen.points.emplace_back(prefix, times_faster(times[1], times[0]));
        tree.points.emplace_back(prefix, times_faster(times[2], times[0]));
      }
      chart.series.push_back(std::move(tree));
      chart.series.push_back(std::move(hydragen));
    }
  }
  harness.show(table);
  harness.show(chart);
}

}  // namespace pando::lab
