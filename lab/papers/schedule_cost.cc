// The cost of choosing a step is measured by itself, while thousands of prompts wait.
#include <fmt/format.h>

#include <memory>

#include "bench/tokens.h"
#include "engine/residency.h"
#include "engine/work_view.h"
#include "lab/papers/papers.h"
#include "schedule/packer.h"

namespace pando::lab {
namespace {

constexpr int kVocab = 32000;
constexpr uint32_t kDecodes = 64;

// About those of a layer of a small model on two cores.
const Predictor kCosts(StepCosts{.step = 1e-3,
                                 .row = {2e-4, 1e-4, 5e-5, 5e-5, 5e-5},
                                 .head = 5e-4,
                                 .output = 1e-4,
                                 .key = 1e-8,
                                 .read = 1e-7});

struct Kind {
  const char* name;
  int n_shared;  // tokens that all prompts begin with
  int n_own;
};

// Prompts in the tree of an engine, none of them begun.
class WaitingPrompts {
 public:
  WaitingPrompts(const Kind& kind, int n)
      : residency_({.n_pages = 1, .page_len = 64}, /*timing=*/nullptr) {
    RandomTokens random(1, kVocab);
    const std::vector<Token> shared = random(kind.n_shared);
    for (int i = 0; i < n; ++i) {
      const auto request = std::make_shared<ActiveRequest>();
      request->request.tokens = joined(shared, random(kind.n_own));
      sequences_.push_back(std::make_unique<Sequence>(
          Sequence{.request = request,
                   .next_output = first_output(request->request),
                   .stops = StopMatcher(request->request.sampling.stop)}));
      residency_.enter(*sequences_.back(), /*isolation_key=*/0, request->request.tokens,
                       /*n_public=*/0);
    }
  }
  ~WaitingPrompts() {
    for (const auto& sequence : sequences_) residency_.leave(*sequence, /*keep=*/false);
  }
  WaitingPrompts(const WaitingPrompts&) = delete;
  WaitingPrompts& operator=(const WaitingPrompts&) = delete;

  WorkViewBuilder look() {
    WorkViewBuilder builder(residency_);
    for (const auto& sequence : sequences_) {
      builder.add(*sequence);
      builder.add_times(*sequence);
    }
    builder.set_starts(256 - kDecodes);
    return builder;
  }

 private:
  Residency residency_;
  Sequences sequences_;
};

void add_decodes(WorkView& view, std::vector<ScheduledRequest>& requests) {
  for (uint32_t i = 0; i < kDecodes; ++i) {
    const auto segment = static_cast<uint32_t>(view.segment_rows.size());
    view.segment_rows.push_back(1);
    view.segment_begin.push_back(500);
    view.items.push_back({.running = true, .decoding = true, .segments = {segment}});
    requests.push_back({.tpot_slo = 1});
  }
}

// Each with a deadline of its own, the later the older, so that none is in order.
std::vector<ScheduledRequest> requests_of(const Kind& kind, int n, const PackerOptions& options) {
  const double rows = kind.n_shared + kind.n_own;
  const double work = kCosts.seconds({.rows = rows, .keys = keys_seen(0, rows)});
  std::vector<ScheduledRequest> requests;
  for (int i = 0; i < n; ++i)
    requests.push_back({.arrival = 1e-3 * i,
                        .deadline = 60 + work * (1 + (i * 37) % n),
                        .work = work,
                        .left = std::max(work, options.step_budget / 2)});
  return requests;
}

void run_schedule_cost(Harness& harness) {
  const double seconds = harness.choose(0.01, 0.3, 1.0);
  const PackerOptions options{.step_budget = 30e-3};
  Table table{.title = "What choosing a step costs, microseconds of a processor",
              .columns = {"prompts", "waiting", "fcfs", "edf", "lrs", "lars", "the view"},
              .notes = {fmt::format("One thread. {} answers decode beside them. The view is what "
                                    "the engine makes of its sequences before it chooses.",
                                    kDecodes)}};
  const Kind kinds[] = {{"short, 64 tokens", 0, 64},
                        {"long, 8,192 tokens", 0, 8192},
                        {"64 tokens behind 8,192 of one document", 8192, 64}};
  for (const Kind& kind : kinds)
    for (const int n :
         harness.choose<std::vector<int>>({64}, {256, 1024, 4096}, {64, 256, 1024, 4096})) {
      WaitingPrompts prompts(kind, n);
      WorkView view = prompts.look().view();
      std::vector<ScheduledRequest> requests = requests_of(kind, n, options);
      add_decodes(view, requests);
      std::vector<std::string> cells = {kind.name, std::to_string(n)};
      for (const Policy* policy : {&kFcfs, &kEdf, &kLrs, &kLars})
        cells.push_back(
            number(1e6 * time_calls(seconds, [&] {
                           pack_step({view, requests, /*now=*/30, kCosts, *policy, options});
                         }).processor));
      cells.push_back(number(1e6 * time_calls(seconds, [&] { prompts.look(); }).processor));
      table.add(std::move(cells));
    }
  harness.show(table);
}

}  // namespace

std::vector<Benchmark> schedule_cost_benchmarks() {
  return {{{"schedule-cost", "choosing a step, by how many prompts wait", {.threads = false}},
           run_schedule_cost}};
}

}  // namespace pando::lab
