// `hydragen`: Hydragen as published. Attention is cut at the levels that the caller names
// (3.1, 3.3): each level's keys meet the queries of all sequences below it at once (3.2), the rest
// of a sequence is its own, and the parts are merged by their log-sum-exp (equation 5). Tokens are
// computed and stored as under `tree`. Levels are named by the positions where they end, the same
// in every prompt (`levels=1024+2048`); else they are an instruction and a document, as far as
// prompts have them.
#include <algorithm>
#include <unordered_set>

#include "lab/techniques/level_cuts.h"
#include "lab/techniques/level_pass.h"
#include "lab/techniques/pass_executor.h"
#include "lab/techniques/techniques.h"
#include "plan/row_layout.h"

namespace pando::lab {
namespace {

using kernel::LevelTask;

class HydragenPlanner final : public LevelPlanner {
 public:
  HydragenPlanner(std::vector<uint32_t> level_ends, int tile_len)
      : level_ends_(std::move(level_ends)), tile_len_(tile_len) {}

  std::string_view name() const override { return "hydragen"; }
  bool shares_tokens() const override { return true; }

  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) override {
    RowLayout layout = lay_out_rows(cache, wanted);
    LevelCuts cuts;
    if (level_ends_.empty()) {
      std::vector<Node*> tips;
      // Answers that go on are among them: once is enough.
      for (const Issued& issued : cache.issued()) tips.push_back(issued.node);
      std::unordered_set<const Node*> known(tips.begin(), tips.end());
      for (const WantedOutput& want : wanted)
        if (known.insert(want.tip).second) tips.push_back(want.tip);
      cuts = level_cuts(tips);
    }
    LevelRows& levels = *levels_ = {};
    std::vector<Open> open;  // levels that the runs so far are below of
    for (const RowRun& run : layout.runs) {
      const std::vector<Level> of_run = levels_of(run, layout.step.plan, cuts);
      size_t n_same = 0;
      while (n_same < open.size() && n_same < of_run.size() && of_run[n_same].shared &&
             of_run[n_same] == open[n_same].level)
        levels.tasks[open[n_same++].task].row_end = run.row_end;
      open.resize(n_same);
      for (size_t i = n_same; i < of_run.size(); ++i) {
        open.push_back({of_run[i], levels.tasks.size()});
        add_task(layout, run, of_run[i], cache.page_len());
      }
    }
    number_states(levels, layout.step.plan.n_rows());
    count(levels);
    return std::move(layout.step);
  }

  std::vector<Figure> figures() const {
    return {
        {"tasks", static_cast<double>(n_tasks_)},
        {"levels of a row, mean", static_cast<double>(n_states_) / std::max<double>(n_rows_, 1)},
        {"rows of a task, mean", static_cast<double>(n_states_) / std::max<double>(n_tasks_, 1)}};
  }

 private:
  // Positions [begin, end) of paths through the end of `node`.
  struct Level {
    uint32_t begin, end;
    const Node* node;
    bool shared;  // false: what one run has for itself
    bool operator==(const Level&) const = default;
  };
  struct Open {
    Level level;
    size_t task;
  };

  std::vector<Level> levels_of(const RowRun& run, const StepPlan& plan,
                               const LevelCuts& cuts) const {
    const uint32_t end = plan.positions[run.row_end - 1] + 1;
    std::vector<const Node*> path;
    for (const Node* node = run.node; !node->is_root(); node = node->parent) path.push_back(node);
    std::ranges::reverse(path);
    std::vector<Level> levels;
    uint32_t begin = 0;
    const auto add = [&](uint32_t level_end, const Node* node) {
      if (level_end <= begin || level_end >= end) return;
      levels.push_back({begin, level_end, node, true});
      begin = level_end;
    };
    for (const Node* node : path) {
      if (cuts.instructions.contains(node) || cuts.contexts.contains(node)) add(node->end(), node);
      for (const uint32_t level_end : level_ends_)
        if (level_end > node->start && level_end <= node->end()) add(level_end, node);
    }
    levels.push_back({begin, end, run.node, false});
    return levels;
  }

  void add_task(const RowLayout& layout, const RowRun& run, const Level& level,
                int page_len) const {
    LevelRows& levels = *levels_;
    const uint32_t pages_per_tile = static_cast<uint32_t>(tile_len_ / page_len);
    const uint32_t first = level.begin / static_cast<uint32_t>(tile_len_) * pages_per_tile;
    const uint32_t last = (level.end - 1) / static_cast<uint32_t>(page_len);
    const auto pages = layout.pages.begin() + run.page_begin;
    levels.tasks.push_back({run.row_begin, run.row_end, level.begin, level.end,
                            static_cast<uint32_t>(levels.pages.size()), last + 1 - first, 0});
    levels.pages.insert(levels.pages.end(), pages + first, pages + last + 1);
  }

  // A level begins where the one above it ends, so order by position is order of levels.
  static void number_states(LevelRows& levels, uint32_t n_rows) {
    std::ranges::stable_sort(levels.tasks, {}, &LevelTask::pos_begin);
    std::vector<std::vector<uint32_t>> states(n_rows);
    uint32_t n_states = 0;
    for (LevelTask& task : levels.tasks) {
      task.first_state = n_states;
      for (uint32_t row = task.row_begin; row < task.row_end; ++row)
        states[row].push_back(n_states++);
    }
    levels.states_begin.push_back(0);
    for (const std::vector<uint32_t>& of_row : states) {
      levels.states.insert(levels.states.end(), of_row.begin(), of_row.end());
      levels.states_begin.push_back(static_cast<uint32_t>(levels.states.size()));
    }
  }

  void count(const LevelRows& levels) {
    n_tasks_ += levels.tasks.size();
    n_states_ += levels.states.size();
    n_rows_ += levels.states_begin.size() - 1;
  }

  std::vector<uint32_t> level_ends_;
  int tile_len_;
  uint64_t n_tasks_ = 0, n_states_ = 0, n_rows_ = 0;
};

}  // namespace

Technique hydragen_technique(TechniqueOptions& options, int tile_len) {
  auto planner = std::make_unique<HydragenPlanner>(options.ascending("levels"), tile_len);
  auto attention = planner->attention();
  const auto* const counts = planner.get();
  return {.planner = std::move(planner),
          .executor = pass_executor({.attention = std::move(attention), .takes_sinks = false}),
          .exact = false,
          .figures = [counts] { return counts->figures(); }};
}

}  // namespace pando::lab
