// Tables and figures of "Intra-Prompt Parallel Decoding for Common-Context Question Answering".
#include <fmt/format.h>

#include "bench/tokens.h"
#include "lab/data/demo.h"
#include "lab/papers/ippd_sets.h"
#include "lab/papers/papers.h"

namespace pando::lab {
namespace {

void run_ippd_table_5(Harness& harness) {
  const ModelSpec spec{.shape = "qwen3-0.6b", .n_layers = 1, .vocab = 32000};
  const auto model = harness.model(spec);
  Table table{
      .title = fmt::format("Questions per second on the shapes of IPPD's data sets, {}",
                           harness.name(spec)),
      .columns = {"data set", "batched (padded)", "packed", "prefix_cached", "stacked (IPPD)",
                  "tree", "tree / padded", "tree / packed", "tree / prefix_cached",
                  "tree / stacked", "answers compared with packed", "padded: the same, %",
                  "stacked: the same, %", "tree: the same, %", "paper: PC+PA / batched",
                  "paper: IPPD / batched"},
      .notes = {
          "The paper: Qwen3-1.7B on a GPU; random tokens here, of the lengths of its table 1. "
          "Padded and packed prompts are asked a sample of the questions, and their "
          "answers are compared, in the first repetition: the same are those with the same "
          "tokens."}};
  Chart chart{.title = "Questions per second, times those of padded batches",
              .y_label = "times",
              .log_y = true};
  for (const PaperSet& set : kPaperSets) {
    if (harness.quick() && set.shape.n_prompt() > 1000) continue;
    const int n_contexts = harness.choose(1, set.usual_contexts, set.full_contexts);
    const size_t alone = harness.quick() ? 4 : set.asked_alone;
    const std::vector<Contestant> contestants = {
        {.name = "padded", .sharing = "padded:batch=8", .model = model, .at_most = alone},
        {.name = "packed", .sharing = "packed", .model = model, .at_most = alone},
        {.name = "prefix_cached", .sharing = "prefix_cached", .model = model},
        {.name = "stacked", .sharing = "stacked", .model = model},
        {.name = "tree", .sharing = "tree", .model = model}};
    const std::vector<Lane> lanes = harness.contest(contestants, [&](int repetition) {
      RandomTokens random(static_cast<uint64_t>(repetition), model->info().vocab);
      return Workload{.timed = questions_of(set.shape, n_contexts, random)};
    });
    std::vector<std::string> cells = {set.name};
    for (const Lane& lane : lanes) {
      cells.push_back(number(lane.requests_per_second()));
      add_by_name(chart, set.name, lane.name,
                  lane.requests_per_second() / lanes[0].requests_per_second());
    }
    note_missing(table, set.name, lanes);
    for (size_t i = 0; i < 4; ++i) cells.push_back(number(times_faster(lanes[4], lanes[i])));
    const std::vector<Sample>& packed = lanes[1].samples;
    cells.push_back(packed.empty() ? "0" : std::to_string(packed[0].completions.size()));
    for (const size_t i : {0, 3, 4})
      cells.push_back(number(packed.empty() || lanes[i].samples.empty()
                                 ? kNotMeasured
                                 : same_answers(packed[0], lanes[i].samples[0])));
    cells.push_back(number(set.prefix_cached_qps / set.batched_qps));
    cells.push_back(number(set.ippd_qps / set.batched_qps));
    table.add(std::move(cells));
  }
  harness.show(table);
  harness.show(chart);
}

}  // namespace

std::vector<Benchmark> ippd_benchmarks() {
  return {{{"ippd-table-5",
            "questions per second on four data sets' shapes (also figure 3)",
            {.model = true}},
           run_ippd_table_5}};
}

}  // namespace pando::lab
