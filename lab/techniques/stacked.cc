// `stacked`: IPPD as published. Contexts with their questions are one stacked prompt (equation 1),
// with virtual positions (2 to 5, 16) and a dense mask (6 to 10); all questions advance by a token
// in a pass, and answer tokens are appended as they come (4.2), so that a token's absolute position
// is its cell. b stacks make a batch, padded on the left behind the instruction, and in every later
// pass to the stack with most answers, with pads that lie beyond every position (4.4). The
// instruction is computed once for all batches and copied into every stack. Answers that end leave.
//
// The stacks have pages of their own. Those that the engine's cache gives out for the same tokens
// only count.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "cache/page_pool.h"
#include "exec/cpu/kv_memory.h"
#include "lab/techniques/kept_instruction.h"
#include "lab/techniques/pass_executor.h"
#include "lab/techniques/prompt_groups.h"
#include "lab/techniques/relayout.h"
#include "lab/techniques/stack_batch.h"
#include "lab/techniques/stack_choice.h"
#include "lab/techniques/stack_pass.h"
#include "lab/techniques/static_batcher.h"
#include "lab/techniques/techniques.h"
#include "plan/attention_tasks.h"

namespace pando::lab {
namespace {

struct StackedOptions {
  uint32_t n_contexts;  // of a stack; 0: as many as cost the least
  uint32_t n_stacks;    // of a batch; 0: as many as `n_rows` hold
  uint32_t n_rows;      // of a batch's headers, where n_stacks is 0
};

class StackedPlanner final : public MaskedPlanner, public KvStore {
 public:
  StackedPlanner(const StackedOptions& options, int tile_len)
      : options_(options), tile_len_(static_cast<uint32_t>(tile_len)) {}

  std::string_view name() const override { return "stacked"; }
  bool shares_tokens() const override { return false; }

  void open(const StoredModel& model, size_t n_bytes) override {
    const kernel::KvShape& shape = model.shape;
    page_len_ = static_cast<uint32_t>(shape.page_len);
    const size_t n_pages = n_bytes / shape.page_bytes();
    store_.emplace(n_pages);
    memory_.emplace(shape, n_pages);
    limits_ = {options_.n_stacks, options_.n_rows, n_pages, page_len_};
    costs_ = {.cells = model.row_products / (2.0 * model.n_heads * shape.head_dim * shape.n_layers),
              .tile = tile_len_,
              .group = model.n_heads / shape.n_kv_heads,
              .n_kv_heads = shape.n_kv_heads,
              .n_threads = model.n_threads};
  }
  size_t n_bytes() const override { return store_->n_used() * memory_->views()[0].page_bytes; }

  // How many of those that wait start together: contexts in order of arrival, all of one isolation
  // key.
  size_t batch_of(std::span<const WaitingPrompt> waiting) {
    forget_what_failed();
    const auto other = std::ranges::find_if(waiting, [&](const WaitingPrompt& prompt) {
      return prompt.isolation_key != waiting[0].isolation_key;
    });
    waiting = waiting.first(static_cast<size_t>(other - waiting.begin()));
    if (waiting[0].isolation_key != key_) instruction_.forget(*store_);
    key_ = waiting[0].isolation_key;
    size_t n = wanted_batch(waiting);
    while (!fits(waiting.first(n))) {
      if (n == 1) {  // without the instruction a prompt has its pages
        instruction_.forget(*store_);
        break;
      }
      n -= (n + 7) / 8;
    }
    return n;
  }

  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) override {
    forget_what_failed();
    ++pass_->n_planned;  // first: a plan that fails half-way is a step that failed
    const RowLayout layout = lay_out_rows(cache, wanted);
    const PathsOfStep paths = paths_of(layout);
    StackPass pass{layout.step.plan, {}, std::vector<uint32_t>(layout.step.plan.n_rows(), kPad)};
    if (paths.prompts.empty()) {
      append_answers(paths.others, pass);
    } else {
      PANDO_CHECK(paths.others.empty());
      append_headers(paths.prompts, pass);
    }
    return finish(layout.step, pass);
  }

  std::vector<Figure> figures() const {
    return {{"batches", static_cast<double>(n_batches_)},
            {"stacks", static_cast<double>(n_stacks_)},
            {"contexts", static_cast<double>(n_contexts_)},
            {"rows computed", static_cast<double>(n_rows_)},
            {"pads of them", static_cast<double>(n_pads_)},
            {"cells of a stack at most", static_cast<double>(most_cells_)}};
  }

 private:
  struct Member {  // a question and its answer
    uint32_t stack, context, question;
  };

  // A step that did not come to its end left no keys and values to rely on.
  void forget_what_failed() {
    if (pass_->n_computed == pass_->n_planned) return;
    pass_->n_computed = pass_->n_planned;
    instruction_.forget(*store_);
    copies_.clear();
  }

  // --- the batch ---------------------------------------------------------------------------------

  static std::vector<std::span<const Token>> tokens_of(std::span<const WaitingPrompt> prompts) {
    std::vector<std::span<const Token>> tokens;
    for (const WaitingPrompt& prompt : prompts) tokens.push_back(prompt.tokens);
    return tokens;
  }

  // How many of those that wait make as many contexts as rows and pages hold.
  size_t wanted_batch(std::span<const WaitingPrompt> waiting) {
    const std::vector<std::span<const Token>> prompts = tokens_of(waiting);
    PromptGroups groups = group_prompts(prompts);
    instruction_.take(prompts, groups, UINT32_MAX);
    const std::vector<PromptPart> parts = parts_of(groups, waiting);
    std::vector<ContextSize> contexts(groups.groups.size());
    for (const PromptPart& part : parts) contexts[part.context].add(part.size);
    n_chosen_ = options_.n_contexts > 0
                    ? options_.n_contexts
                    : contexts_of_stack(contexts, groups.instruction_len, limits_, costs_);
    StackBatch batch(groups.instruction_len, n_chosen_);
    size_t n_taken = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      batch.add(parts[i].context, parts[i].size);
      // Goes on until the next prompt begins a new context.
      if (i + 1 < parts.size() && !parts[i + 1].is_first) continue;
      if (n_taken > 0 && !limits_.hold(batch)) break;
      n_taken = i + 1;
    }
    return n_taken;
  }

  // Says whether `plan` has the pages for a batch of these: alone they may group otherwise than
  // with all that wait. The instruction that is kept is of no use where a row of it is wanted.
  bool fits(std::span<const WaitingPrompt> waiting) const {
    const std::vector<std::span<const Token>> prompts = tokens_of(waiting);
    PromptGroups groups = group_prompts(prompts);
    const auto has_room_now = [&] {
      StackBatch batch(groups.instruction_len, n_chosen_);
      for (const PromptPart& part : parts_of(groups, waiting)) batch.add(part.context, part.size);
      return has_room(batch);
    };
    return has_room_now() && (!instruction_.take(prompts, groups, UINT32_MAX) || has_room_now());
  }

  bool has_room(const StackBatch& batch) const {
    return batch.n_pages(page_len_) <= store_->n_pages() &&
           (options_.n_stacks == 0 || batch.stacks().size() <= options_.n_stacks);
  }

  // --- headers -----------------------------------------------------------------------------------

  void append_headers(const std::vector<PathRows>& paths, StackPass& pass) {
    for (const Stack& stack : stacks_)
      for (const PageId page : stack.pages) store_->release(page);
    stacks_.clear();
    members_.clear();
    std::vector<std::span<const Token>> prompts;
    for (const PathRows& path : paths)
      prompts.push_back(std::span(pass.packed.tokens).subspan(path.begin, path.n_rows()));
    PromptGroups groups = group_prompts(prompts);
    const bool cached = instruction_.take(prompts, groups, first_output(pass.packed));
    if (!cached) instruction_.forget(*store_);
    const uint32_t n_contexts = n_chosen_;

    stacks_.resize((groups.groups.size() + n_contexts - 1) / n_contexts);
    std::vector<uint32_t> lens(stacks_.size(), 0);  // of headers, without the instruction
    for (size_t i = 0; i < groups.groups.size(); ++i)
      lens[i / n_contexts] += header_len(groups, groups.groups[i], prompts);
    const uint32_t longest = std::ranges::max(lens);
    for (uint32_t s = 0; s < stacks_.size(); ++s) {
      StackCells& cells = stacks_[s].cells;
      for (uint32_t pos = 0; pos < groups.instruction_len; ++pos) {
        if (s == 0 && !cached) add_row(pass, s, paths[0].begin + pos, true);
        cells.add(pos, 0, 0);
      }
      for (uint32_t i = lens[s]; i < longest; ++i) {
        add_row(pass, s, kPad, false);
        cells.add_pad();
      }
      for (uint32_t c = 0; c < n_contexts; ++c)
        if (s * n_contexts + c < groups.groups.size())
          append_context(paths, groups, groups.groups[s * n_contexts + c], s, c + 1, pass);
      grow(stacks_[s]);
    }
    // A token that several prompts share has one row.
    for (const ContextGroup& group : groups.groups)
      for (const uint32_t i : group.prompts)
        for (uint32_t pos = 0; pos < groups.instruction_len + group.context_len; ++pos) {
          const uint32_t from = pos < groups.instruction_len ? 0 : group.prompts[0];
          pass.row_of[paths[i].begin + pos] = pass.row_of[paths[from].begin + pos];
        }
    if (!cached) {  // this pass computes it, into pages beside those of the stacks
      instruction_.keep(prompts[0].first(groups.instruction_len), *store_, page_len_);
    } else {
      for (const Stack& stack : stacks_) instruction_.copy_into(stack.pages, page_len_, copies_);
    }
    ++n_batches_;
    n_stacks_ += stacks_.size();
    n_contexts_ += groups.groups.size();
  }

  static uint32_t header_len(const PromptGroups& groups, const ContextGroup& group,
                             const std::vector<std::span<const Token>>& prompts) {
    uint32_t n = group.context_len;
    for (const uint32_t i : group.prompts)
      n += static_cast<uint32_t>(prompts[i].size()) - groups.instruction_len - group.context_len;
    return n;
  }

  void append_context(const std::vector<PathRows>& paths, const PromptGroups& groups,
                      const ContextGroup& group, uint32_t stack, uint32_t context,
                      StackPass& pass) {
    StackCells& cells = stacks_[stack].cells;
    const uint32_t begin = groups.instruction_len, end = begin + group.context_len;
    for (uint32_t pos = begin; pos < end; ++pos) {
      add_row(pass, stack, paths[group.prompts[0]].begin + pos, false);
      cells.add(pos, context, 0);
    }
    uint32_t question = 0;
    for (const uint32_t i : group.prompts) {
      ++question;
      for (uint32_t pos = end; pos < paths[i].n_rows(); ++pos) {
        add_row(pass, stack, paths[i].begin + pos, false);
        cells.add(pos, context, question);
      }
      members_[root_of(paths[i].tip)->owner] = {stack, context, question};
    }
  }

  // Before the cell is added.
  void add_row(StackPass& pass, uint32_t stack, uint32_t packed, bool everywhere) {
    if (packed != kPad) pass.row_of[packed] = static_cast<uint32_t>(pass.rows.size());
    pass.rows.push_back({packed, stack, stacks_[stack].cells.size(), everywhere});
  }

  void grow(Stack& stack) {
    while (stack.pages.size() * page_len_ < stack.cells.size()) {
      const std::optional<PageId> page = store_->allocate();
      PANDO_CHECK(page.has_value());  // `fits` counted them
      stack.pages.push_back(*page);
    }
    most_cells_ = std::max<uint64_t>(most_cells_, stack.cells.size());
  }

  static uint32_t first_output(const StepPlan& plan) {
    uint32_t first = UINT32_MAX;
    for (const uint32_t row : plan.outputs) first = std::min(first, plan.positions[row]);
    return first;
  }

  // --- answers -----------------------------------------------------------------------------------

  void append_answers(const std::vector<PathRows>& paths, StackPass& pass) {
    std::vector<std::vector<std::pair<Member, PathRows>>> of_stack(stacks_.size());
    size_t most = 0;
    for (const PathRows& path : paths) {
      const Member& member = members_.at(root_of(path.tip)->owner);
      PANDO_CHECK(path.n_rows() == 1);
      of_stack[member.stack].emplace_back(member, path);
      most = std::max(most, of_stack[member.stack].size());
    }
    for (uint32_t s = 0; s < stacks_.size(); ++s) {
      StackCells& cells = stacks_[s].cells;
      std::ranges::sort(of_stack[s], {}, [](const auto& entry) {
        return std::pair(entry.first.context, entry.first.question);
      });
      for (const auto& [member, path] : of_stack[s]) {
        add_row(pass, s, path.begin, false);
        cells.add(pass.packed.positions[path.begin], member.context, member.question);
      }
      for (size_t i = of_stack[s].size(); i < most; ++i) {
        add_row(pass, s, kPad, false);
        cells.add_pad();
      }
      grow(stacks_[s]);
    }
  }

  PlannedStep finish(const PlannedStep& packed, const StackPass& pass) {
    pass_->rows = {.copies = std::exchange(copies_, {}), .memory = memory_->views()[0]};
    PlannedStep step = plan_stack_pass(packed, pass, {stacks_, instruction_.pages(), page_len_},
                                       tile_len_, pass_->rows);
    n_rows_ += step.plan.n_rows();
    n_pads_ += step.n_pads;
    return step;
  }

  StackedOptions options_;
  uint32_t tile_len_, page_len_ = 0;
  BatchLimits limits_;
  RowCosts costs_;
  uint64_t key_ = 0;       // of isolation, of the batch
  uint32_t n_chosen_ = 1;  // contexts of a stack, in the batch that was chosen last
  std::optional<PagePool> store_;
  std::optional<exec::KvMemory> memory_;  // of the store's pages
  std::vector<Stack> stacks_;             // of the batch under way
  std::map<uint64_t, Member> members_;    // by root
  KeptInstruction instruction_;
  std::vector<PageCopy> copies_;  // into the stacks of this pass
  uint64_t n_batches_ = 0, n_stacks_ = 0, n_contexts_ = 0, n_rows_ = 0, n_pads_ = 0,
           most_cells_ = 0;
};

class StackedBatcher final : public StaticBatcher {
 public:
  explicit StackedBatcher(StackedPlanner& planner)
      : StaticBatcher({.n_rows = kMostAtOnce, .n_sequences = kMostAtOnce}), planner_(planner) {}

 private:
  static constexpr uint32_t kMostAtOnce = 1u << 30;  // the batch is chosen by stacks

  size_t batch_of(const Queue& queue) override { return planner_.batch_of(queue.waiting()); }

  StackedPlanner& planner_;
};

}  // namespace

Technique stacked_technique(TechniqueOptions& options, int tile_len) {
  const StackedOptions stacked{
      .n_contexts = options.count("contexts", 0),
      .n_stacks = options.count("batch", 0),
      .n_rows = options.count("rows", 8192),
  };
  auto planner = std::make_unique<StackedPlanner>(stacked, tile_len);
  StackedPlanner* const own = planner.get();
  return {.planner = std::move(planner),
          .batcher = std::make_unique<StackedBatcher>(*own),
          .executor = pass_executor({.attention = own->attention(),
                                     .store = own,
                                     .takes_int8 = false,
                                     .caps_scores = false,
                                     .takes_sinks = false}),
          .exact = false,
          .figures = [own] { return own->figures(); }};
}

}  // namespace pando::lab
