// The number of contexts in a stack that `stacked` chooses, compared by the work of all passes:
// rows and the cells that attention meets, both with pads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "cache/kv_cache.h"
#include "exec/cpu/kernel/row_chunks.h"
#include "lab/techniques/masked_pass.h"
#include "lab/techniques/pass_executor.h"
#include "lab/tests/technique_testing.h"
#include "plan/planner.h"

namespace pando::lab {
namespace {

using Tokens = std::vector<Token>;

// Tokens of a document, number of its questions, and tokens of all questions: the first documents
// of three data sets, with the tokenizer of Qwen2.5.
struct Document {
  uint32_t context, n_questions, questions;
};
struct Documents {
  const char* name;
  uint32_t instruction;
  std::vector<Document> documents;
};
const std::vector<Documents> kSets = {
    {"SQuAD 2.0", 30, {{168, 9, 90}, {290, 8, 73}, {95, 4, 47},  {206, 7, 85}, {153, 3, 33},
                       {106, 5, 44}, {134, 4, 44}, {163, 5, 62}, {135, 7, 86}, {205, 7, 74},
                       {106, 4, 54}, {397, 7, 74}, {181, 6, 69}, {72, 6, 55},  {144, 7, 53},
                       {160, 6, 65}, {119, 8, 72}, {124, 4, 40}, {291, 6, 73}, {114, 7, 49},
                       {226, 4, 43}, {67, 5, 44},  {93, 3, 28},  {108, 6, 87}}},
    {"RACE",
     25,
     {{342, 4, 156},
      {147, 5, 224},
      {349, 5, 250},
      {290, 3, 111},
      {316, 4, 152},
      {239, 5, 190},
      {368, 5, 154},
      {244, 5, 197},
      {147, 2, 60},
      {207, 3, 141},
      {180, 5, 219},
      {221, 5, 213}}},
    {"FairytaleQA", 15, {{2509, 24, 270}, {1000, 16, 195}}}};

struct Shape {
  const char* name;
  int n_heads, n_kv_heads, head_dim, d_model, d_ff;

  // Multiply-adds of a row in a layer.
  double row_products() const {
    const double q = 1.0 * n_heads * head_dim, kv = 1.0 * n_kv_heads * head_dim, d = d_model;
    return 2 * d * q + 2 * d * kv + 3.0 * d * d_ff;
  }
  double cell_products() const { return 2.0 * n_heads * head_dim; }
};
constexpr Shape kShapes[] = {{"SmolLM2-135M", 9, 3, 64, 576, 1536},
                             {"Qwen3-0.6B", 16, 8, 128, 1024, 3072},
                             {"Qwen3-8B", 32, 8, 128, 4096, 12288}};

std::vector<Tokens> prompts_of(const Documents& set) {
  std::vector<Tokens> prompts;
  Token next = 1;  // no two texts begin alike
  const auto add = [&](Tokens& tokens, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) tokens.push_back(next++);
  };
  Tokens instruction;
  add(instruction, set.instruction);
  for (const Document& document : set.documents) {
    Tokens beginning = instruction;
    add(beginning, document.context);
    for (uint32_t q = 0; q < document.n_questions; ++q) {
      Tokens& prompt = prompts.emplace_back(beginning);
      add(prompt, document.questions * (q + 1) / document.n_questions -
                      document.questions * q / document.n_questions);
    }
  }
  return prompts;
}

// Work of all passes, for answers of these lengths, in tokens.
constexpr uint32_t kAnswers[] = {1, 8, 30};
struct Work {
  double rows = 0;
  double cells[std::size(kShapes)] = {};  // cells met, by shape, because chunks depend on the shape
};
using Works = std::array<Work, std::size(kAnswers)>;

// The passes that answer prompts, as the technique plans them for a shape.
class Passes {
 public:
  Passes(const std::string& sharing, const Shape& shape)
      : technique_(technique_named(sharing, kTile)) {
    const kernel::KvShape kv{.type = DType::kF16,
                             .n_layers = 1,
                             .n_kv_heads = shape.n_kv_heads,
                             .head_dim = shape.head_dim,
                             .page_len = kPage};
    dynamic_cast<KvStore&>(*technique_.planner)
        .open({.shape = kv,
               .n_heads = shape.n_heads,
               .n_threads = 2,
               .row_products = shape.row_products()},
              kv.page_bytes() * kPages);
  }

  Works answer(std::span<const Tokens> prompts, uint32_t n_tokens) {
    while (!prompts.empty()) {
      std::vector<WaitingPrompt> waiting;
      for (const Tokens& prompt : prompts)
        waiting.push_back({prompt, static_cast<uint32_t>(prompt.size()) + n_tokens});
      const size_t n =
          technique_.batcher->sight({.n_running = 0, .waiting = [&] { return waiting; }}).n_waiting;
      answer_batch(prompts.first(n), n_tokens);
      prompts = prompts.subspan(n);
    }
    return works_;
  }

 private:
  static constexpr uint32_t kTile = 64, kPage = 32;
  static constexpr size_t kPages = 4096;

  void answer_batch(std::span<const Tokens> prompts, uint32_t n_tokens) {
    std::vector<Node*> tips;
    for (const Tokens& prompt : prompts) {
      tips.push_back(cache_.acquire(next_key_++, prompt));
      cache_.lock(tips.back());
    }
    for (uint32_t i = 0; i < n_tokens; ++i) {
      for (Node*& tip : tips)
        if (i > 0) tip = cache_.extend(tip, 1);
      plan(tips);
      const Work pass = work_of(dynamic_cast<MaskedPlanner&>(*technique_.planner).masked());
      for (size_t a = 0; a < std::size(kAnswers); ++a) {
        if (i >= kAnswers[a]) continue;
        works_[a].rows += pass.rows;
        for (size_t s = 0; s < std::size(kShapes); ++s) works_[a].cells[s] += pass.cells[s];
      }
    }
    for (Node* tip : tips) {
      cache_.unlock(tip);
      cache_.release_and_drop(tip);
    }
  }

  void plan(const std::vector<Node*>& tips) {
    std::vector<WantedOutput> wanted;
    for (Node* tip : tips) {
      const Extent extent{tip, tip->size() - tip->n_issued};
      EXPECT_TRUE(cache_.reserve({&extent, 1}));
      wanted.push_back({tip, tip->end() - 1, tip->end()});
    }
    auto& planner = dynamic_cast<MaskedPlanner&>(*technique_.planner);
    planner.plan(cache_, wanted);
    planner.pass().n_computed = planner.pass().n_planned;
    cache_.submit();
    cache_.commit();
  }

  // As in masked_attention with two threads.
  static Work work_of(const MaskedRows& masked) {
    const std::span<const kernel::MaskedStack> stacks = masked.stacks;
    Work work{.rows = static_cast<double>(masked.n_rows())};
    for (size_t s = 0; s < std::size(kShapes); ++s)
      for (const auto& chunk : kernel::row_chunks(
               stacks, kShapes[s].n_heads / kShapes[s].n_kv_heads, kShapes[s].n_kv_heads, 2))
        work.cells[s] += static_cast<double>(chunk.end - chunk.begin) * cells_seen(masked, chunk);
    return work;
  }

  // Cells of the tiles in which a row of the chunk sees any cell.
  static uint32_t cells_seen(const MaskedRows& masked,
                             const kernel::RowChunk<kernel::MaskedStack>& chunk) {
    const kernel::MaskedStack& stack = *chunk.of;
    const uint32_t n_tiles = (stack.n_cells + kTile - 1) / kTile;
    std::vector<uint64_t> seen(n_tiles);
    for (uint32_t row = chunk.begin; row < chunk.end; ++row)
      for (uint32_t i = 0; i < n_tiles; ++i)
        seen[i] |= masked.masks[stack.first_mask + (row - stack.row_begin) * n_tiles + i];
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_tiles; ++i)
      if (seen[i] != 0) n += std::min(kTile, stack.n_cells - i * kTile);
    return n;
  }

  Technique technique_;
  PagePool pool_{1 << 16};
  KvCache cache_{pool_, kPage};
  uint64_t next_key_ = 1;
  Works works_;
};

// In multiply-adds of matrices; one of attention takes `times` as long.
double cost(const Work& work, size_t shape, double times) {
  return work.rows * kShapes[shape].row_products() +
         times * work.cells[shape] * kShapes[shape].cell_products();
}

TEST(StackChoice, IsNearTheBestNumberOfContexts) {
  for (const Documents& set : kSets) {
    const std::vector<Tokens> prompts = prompts_of(set);
    std::vector<Works> by_number;
    for (size_t n = 1; n <= set.documents.size(); ++n)
      by_number.push_back(
          Passes(fmt::format("stacked:contexts={}", n), kShapes[0]).answer(prompts, 30));
    for (size_t shape = 0; shape < std::size(kShapes); ++shape)
      for (size_t a = 0; a < std::size(kAnswers); ++a) {
        const Work chosen = Passes("stacked", kShapes[shape]).answer(prompts, kAnswers[a])[a];
        for (const double times : {1.5, 2.0, 3.0}) {
          std::vector<double> costs;
          for (const Works& works : by_number) costs.push_back(cost(works[a], shape, times));
          const std::string what =
              fmt::format("{}, answers of {}, {}", set.name, kAnswers[a], kShapes[shape].name);
          EXPECT_LT(cost(chosen, shape, times) / std::ranges::min(costs), 1.05) << what;
        }
        // These documents distinguish the numbers: stacks of one context have too many pads.
        EXPECT_GT(cost(by_number[0][a], shape, 2) / cost(chosen, shape, 2), 1.05)
            << set.name << ", " << kShapes[shape].name;
      }
  }
}

}  // namespace
}  // namespace pando::lab
