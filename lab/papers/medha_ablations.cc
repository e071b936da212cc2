// Medha, section 6.1: what the order of prefills, many of them in a step, and chunks by time are
// each worth. In the simulator alone, with fixed costs, so that every run gives the same table.
#include <fmt/format.h>

#include "lab/data/file_names.h"
#include "lab/papers/papers.h"
#include "lab/papers/serve_run.h"

namespace pando::lab {
namespace {

constexpr uint64_t kRequestSeed = 1;
constexpr double kMs = 1e-3;

// About a seventh of what the 28 layers and the head of a qwen3-0.6b shape in q8_0 take on
// two cores with AMX (docs/performance.md).
const Predictor kCosts(StepCosts{.step = 1.7 * kMs,
                                 .row = {0.14 * kMs, 0.12 * kMs, 0.1 * kMs, 0.1 * kMs, 0.1 * kMs},
                                 .head = 1 * kMs,
                                 .output = 0.1 * kMs,
                                 .key = 1e-7,
                                 .read = 1e-8});

void run_ablations(Harness& harness) {
  ServeRun run = simulated_run(harness, kCosts);
  run.simulated_capacity = simulated_capacity(run, harness.choose(40, 200, 200));
  EngineOptions base = run.baseline().engine;
  base.packing.whole_prompts = false;
  const std::vector<Contender> all = ablations(base, run.budget, {512, 2048});
  for (const double load : {0.7, 0.9}) {
    const double rate = run.simulated_rate(load);
    const Span span = run.span(run.simulated_seconds, rate);
    const std::vector<ServedRequest> requests =
        run.requests(run.mix, rate, span.seconds, kRequestSeed);
    std::vector<NamedFigures> figures;
    for (const Contender& who : all)
      figures.push_back({who.name, figures_of(serve_simulated(run.served, who, requests, span))});
    Table table = figures_table(
        fmt::format("Medha 6.1, simulated, at {} of the simulator's capacity: {} requests a second "
                    "for {} s",
                    number(load), number(rate), number(run.simulated_seconds)),
        figures);
    table.notes = {
        fmt::format("Steps have a budget of {} ms. First tokens are due after {} ms, or {} times "
                    "the prompt's predicted time where that is more; then one every {} ms.",
                    number(1e3 * run.budget), number(1e3 * run.deadlines.ttft_slo),
                    number(run.deadlines.ttft_per_work), number(1e3 * run.deadlines.tpot_slo)),
        "The paper compares with Sarathi in chunks of 512 and 2,048, and with FCFS in place of "
        "LARS."};
    harness.show(table);
  }
}

}  // namespace

std::vector<Benchmark> medha_ablation_benchmarks() {
  return {{{"medha-ablations",
            "policies with many prefills in a step and one, and fixed chunks, simulated",
            {.files = {kTrace}, .files_optional = true, .threads = false}},
           run_ablations}};
}

}  // namespace pando::lab
