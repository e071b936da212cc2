// Every planner on every kind of workload: whether the tree is the right default.
#include <fmt/format.h>

#include <algorithm>

#include "bench/prompts.h"
#include "bench/registry.h"
#include "bench/tokens.h"

namespace pando::bench {
namespace {

constexpr int kVocab = 32000;
constexpr const char* kOthers[] = {"packed",          "prefix_cached", "radix",
                                   "prepacked",       "padded",        "length_ordered",
                                   "prepacked:dense", "hydragen",      "stacked"};

struct Kind {
  std::string name;
  ModelSpec model;
  MakeWorkload make;
};

MakeWorkload questions(const QaShape& shape, int n_contexts) {
  return [=](int repetition) {
    RandomTokens random(static_cast<uint64_t>(repetition) + 1, 256);
    return Workload{.timed = questions_of(shape, n_contexts, random)};
  };
}

// Prompts of n tokens with n_shared of them in common.
MakeWorkload prompts(int n_prompts, int n_shared, int n, int n_answer, bool is_warm) {
  return [=](int repetition) {
    RandomTokens random(static_cast<uint64_t>(repetition) + 1, kVocab);
    const std::vector<Token> shared = random(n_shared);
    Workload workload;
    if (is_warm) workload.warm.push_back(request_of(shared, 1));
    for (int i = 0; i < n_prompts; ++i)
      workload.timed.push_back(request_of(joined(shared, random(n - n_shared)), n_answer));
    return workload;
  };
}

// Small versions of what issues and papers measure.
std::vector<Kind> kinds_of(const Lab& lab) {
  const int layers = lab.choose(1, 4, 28);
  const ModelSpec middle{.shape = "qwen3-0.6b", .n_layers = layers, .vocab = kVocab};
  const ModelSpec small{.shape = "tiny-qwen3", .context = 4096};
  const int part = lab.choose(4, 1, 1);  // quick: a fourth
  const auto qa = [&](int instruction, int context, int question, int answer, double n) {
    return QaShape{instruction / part, context / part, question, answer, n};
  };
  std::vector<Kind> kinds = {
      {"many questions to a context", middle, questions(qa(60, 300, 12, 6, 12), 1)},
      {"a long context, answers of one token", middle, questions(qa(40, 2400, 73, 1, 3), 1)},
      {"a small model, short contexts", small, questions(qa(47, 178, 13, 4, 9), 80 / part)},
      {"nothing shared", middle, prompts(12 / part, 0, 200, 8, false)},
      {"decoding over a shared prefix", middle,
       prompts(48 / part, 512 / part, 512 / part + 1, 8, true)},
      {"prefill 512 + 64 x 8", middle, prompts(8, 512 / part, 576 / part, 1, false)}};
  if (!lab.settings().data.empty()) {
    const auto mix = std::make_shared<LengthMix>(std::move(length_mixes(lab, kVocab, 1000)[0]));
    kinds.push_back(
        {"16 prompts of MMLU", middle, [mix](int repetition) {
           return Workload{
               .timed = first_tokens(
                   sample_of(mix->prompts, 16, static_cast<uint64_t>(repetition) + 1), repetition)};
         }});
  }
  return kinds;
}

void run_planners(Lab& lab) {
  const int n = lab.choose(1, 9, 15);
  Table table{
      .title = "Times that tree is faster: medians of paired ratios",
      .columns = {"workload", "tree, s"},
      .notes = {fmt::format("{} repetitions in turn. The goal: no ratio below 0.97. Models: "
                            "qwen3-0.6b of {} layers, and tiny-qwen3 where the model is small.",
                            n, lab.choose(1, 4, 28))}};
  for (const char* name : kOthers) table.columns.emplace_back(name);
  table.columns.emplace_back("worst");
  table.columns.emplace_back("the best other");
  if (lab.settings().data.empty())
    table.notes.emplace_back("Without --data no mix of real lengths is there.");
  for (const Kind& kind : kinds_of(lab)) {
    const auto model = lab.model(kind.model);
    std::vector<Contestant> contestants = {{.name = "tree", .sharing = "tree", .model = model}};
    for (const char* name : kOthers)
      contestants.push_back({.name = name, .sharing = name, .model = model});
    const std::vector<Lane> lanes = lab.contest(contestants, kind.make, n);
    std::vector<std::string> cells = {kind.name, number(lanes[0].seconds())};
    double worst = std::numeric_limits<double>::infinity();
    std::string best;
    for (size_t i = 1; i < lanes.size(); ++i) {
      const double times = times_faster(lanes[0], lanes[i]);
      cells.push_back(number(times));
      if (times < worst) {
        worst = times;
        best = lanes[i].name;
      }
      if (lanes[i].samples.empty())
        table.notes.push_back(
            fmt::format("{}, {}: {}", kind.name, lanes[i].name, lanes[i].why_not));
    }
    cells.push_back(number(worst));
    cells.push_back(best);
    table.add(std::move(cells));
  }
  lab.show(table);
}

}  // namespace

std::vector<Benchmark> planner_benchmarks() {
  return {
      {{"planners", "tree beside every other planner, on every kind of workload"}, run_planners}};
}

}  // namespace pando::bench
