// Every planner on every kind of workload: whether the tree is the right default. A benchmark for
// each family, whose tables come when it ends.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>

#include "bench/tokens.h"
#include "lab/data/data_sets.h"
#include "lab/data/file_names.h"
#include "lab/data/prompts.h"
#include "lab/papers/hydragen.h"
#include "lab/papers/ippd_sets.h"
#include "lab/papers/papers.h"
#include "lab/papers/radixmlp.h"
#include "pando/rerank.h"

namespace pando::lab {
namespace {

constexpr const char* kOthers[] = {"packed",          "prefix_cached", "radix",
                                   "prepacked",       "padded",        "length_ordered",
                                   "prepacked:dense", "hydragen",      "stacked"};

// Counts the prompts of so many tokens each.
size_t in_a_pass(int n_tokens) {
  return std::max<size_t>(1, 16384 / static_cast<size_t>(n_tokens));
}

using MakeOfVocab = std::function<MakeWorkload(int vocab)>;

struct Kind {
  std::string name;
  ModelSpec model;
  MakeOfVocab make;
  size_t alone = 0;  // requests of planners that share nothing; 0: all
  // Requests of `radix`, which shares within a pass alone, where one does not hold all; 0: all.
  size_t in_a_pass = 0;
  std::string radix = "radix";
  int n_repetitions = 9;
};

// Nine times are too few where all take hundredths of a second, and 21 where they wait for memory
// alone, which neighbours share: medians of these were a few hundredths apart between engines that
// take the very same steps.
constexpr int kMany = 21, kVeryMany = 101;

MakeOfVocab questions(const QaShape& shape, int n_contexts) {
  return [=](int vocab) {
    return [=](int repetition) {
      RandomTokens random(static_cast<uint64_t>(repetition) + 1, vocab);
      return Workload{.timed = questions_of(shape, n_contexts, random)};
    };
  };
}

MakeOfVocab prompts(const SharedPrompts& shape) {
  return [=](int vocab) { return shared_prompts(shape, vocab); };
}

// Most kinds use this one.
ModelSpec large() { return {.shape = "qwen3-0.6b", .n_layers = 1, .vocab = 32000}; }

// Prompts of real lengths. Texts are read once; tokens depend on the model.
std::vector<Kind> texts(const Harness& harness) {
  std::vector<Kind> kinds;
  const ModelSpec model = large();
  const auto all = std::make_shared<std::map<int, std::vector<LengthMix>>>();  // by vocabulary
  const auto mixes = [&harness, all](int vocab) {
    if (!all->contains(vocab)) (*all)[vocab] = length_mixes(harness, vocab, 500);
    return all;
  };
  for (const size_t i : harness.choose<std::vector<size_t>>({0}, {0, 1, 2, 3}, {0, 1, 2, 3})) {
    constexpr const char* kNames[] = {"MMLU", "Alpaca", "WikiText 256", "WikiText 512"};
    const auto make = [mixes, i](int vocab) {
      return [mixes = mixes(vocab), vocab, i](int repetition) {
        return Workload{.timed = first_tokens(sample_of(mixes->at(vocab)[i].prompts, 16,
                                                        static_cast<uint64_t>(repetition) + 1),
                                              repetition)};
      };
    };
    kinds.push_back({.name = fmt::format("16 prompts of {}", kNames[i]),
                     .model = model,
                     .make = make,
                     .n_repetitions = kMany});
  }
  const size_t n_passages = harness.choose<size_t>(8, 100, 100);
  for (const int year : {19, 20})
    kinds.push_back(
        {fmt::format("reranking of {} passages, TREC DL{}", n_passages, year), model,
         [&harness, n_passages, year](int vocab) {
           const auto queries =
               std::make_shared<std::vector<TrecQuery>>(trec_queries(harness, year));
           const auto tokens = std::make_shared<TextTokens>(harness, vocab);
           return [=](int repetition) {
             const TrecQuery& query = (*queries)[static_cast<size_t>(repetition) % queries->size()];
             std::vector<std::vector<Token>> prompts;
             for (size_t i = 0; i < n_passages; ++i)
               prompts.push_back((*tokens)(rerank_prompt({}, query.query, query.passages[i])));
             return Workload{.timed = first_tokens(prompts, repetition)};
           };
         }});
  return kinds;
}

// Decoding behind a prefix that is there, as in Hydragen's figure 3.
std::vector<Kind> hydragens(const Harness& harness) {
  std::vector<Kind> kinds;
  const int batch = harness.choose(8, 256, 256);
  for (const int prefix : harness.choose<std::vector<int>>({128}, {2048}, {1024, 16256}))
    kinds.push_back(
        {.name = fmt::format("Hydragen: {} answers behind a prefix of {}, which is there", batch,
                             prefix),
         .model = llama_spec("codellama-13b", harness.choose(1, 1, 2)),
         .make = prompts(decodes_behind(prefix, batch, 3)),
         .alone = 1,
         .in_a_pass = in_a_pass(prefix + 1)});
  return kinds;
}

// The synthetic prefill of RadixMLP's table 2.
std::vector<Kind> radixmlps(const Harness& harness) {
  std::vector<Kind> kinds;
  const int n = harness.choose(8, 32, 32), shared = harness.choose(128, 512, 2048);
  const int own = shared / 8;
  std::vector<RadixMlpModel> models = radixmlp_models(harness);
  // The largest takes half an hour, and so would the middle one.
  std::erase_if(models, [](const auto& paper) { return paper.shape == std::string("qwen3-4b"); });
  if (!harness.full()) models.resize(1);
  for (const RadixMlpModel& paper : models)
    kinds.push_back(
        {.name =
             fmt::format("RadixMLP: {} prompts, {} tokens shared, {} of their own", n, shared, own),
         .model = radixmlp_spec(paper, harness.full() ? paper.n_layers_full : paper.n_layers),
         .make = prompts({n, shared, own, 1}),
         .alone = 2,
         .radix = fmt::format("radix:rows={}", n * (shared + own))});  // a batch in one pass
  return kinds;
}

// Questions of IPPD's shapes, with few contexts, and where little or nothing is shared.
std::vector<Kind> shapes(const Harness& harness) {
  const ModelSpec small{.shape = "tiny-qwen3", .context = 4096};
  const int part = harness.choose(8, 1, 1);  // quick: an eighth of the tokens
  const auto qa = [&](const QaShape& s) {
    return QaShape{s.instruction / part, s.context / part, s.question, s.answer, s.questions};
  };
  std::vector<Kind> kinds;
  for (const PaperSet& set : kPaperSets) {
    const QaShape& s = set.shape;
    const bool is_long = s.n_prompt() > 5000, is_middle = !is_long && s.n_prompt() > 1000;
    const int n_contexts = is_long || is_middle || harness.quick() ? 1 : s.answer > 1 ? 3 : 6;
    kinds.push_back(
        {fmt::format("IPPD: {}, {} context{}", set.name, n_contexts, n_contexts > 1 ? "s" : ""),
         large(), questions(qa(s), n_contexts),
         is_long     ? size_t{1}
         : is_middle ? size_t{2}
                     : size_t{0},
         is_long || is_middle ? in_a_pass(static_cast<int>(s.n_prompt())) : size_t{0}});
  }
  kinds.push_back({.name = "small model, short contexts",
                   .model = small,
                   .make = questions(qa({47, 178, 13, 4, 9}), 80 / part),
                   .n_repetitions = kMany});
  kinds.push_back({.name = "24 prompts that share nothing",
                   .model = large(),
                   .make = prompts({24 / part, 0, 200, 8}),
                   .n_repetitions = kMany});
  for (const int n : {512 / part, 2048 / part})
    kinds.push_back({.name = fmt::format("one prompt of {}", n),
                     .model = large(),
                     .make = prompts({.n_prompts = 1, .n_shared = 0, .n_own = n}),
                     .n_repetitions = kMany});
  kinds.push_back({.name = "one answer of 64 tokens",
                   .model = large(),
                   .make = prompts({.n_prompts = 1, .n_shared = 0, .n_own = 16, .n_answer = 64}),
                   .n_repetitions = kVeryMany});
  for (const int shared : harness.choose<std::vector<int>>({128}, {512}, {512, 2048, 4096}))
    kinds.push_back({.name = fmt::format("{} answers of 8 tokens that share {}", 64 / part, shared),
                     .model = large(),
                     .make = prompts({64 / part, shared, 1, 8, true}),
                     .alone = 8,
                     .in_a_pass = in_a_pass(shared + 1)});
  return kinds;
}

// Counts a kind's requests; 0: all.
size_t asked_at_most(const std::string& planner, const Kind& kind) {
  if (planner == "radix") return kind.in_a_pass;
  return shares_tokens(planner) || planner == "stacked" ? 0 : kind.alone;
}

// `notes` say what of the workloads is asked of whom.
void run_kinds(Harness& harness, const std::vector<Kind>& kinds, std::vector<std::string> notes) {
  constexpr double kHopeless = 1.3;
  Table table{
      .title = "Times that tree is faster: medians of paired ratios",
      .columns = {"workload", "model", "tree, s", "repetitions"},
      .notes = {
          fmt::format(
              "{} The goal: no ratio below 0.97. A planner that takes more than {} times what tree "
              "takes for a request, twice, is not timed again; one that takes ten times that loses "
              "its engine, and its ratio is of the repetition that is not counted of others.",
              harness.quick() ? "One repetition, which decides nothing." : "Repetitions in turn.",
              kHopeless),
          "`hydragen`, `stacked`, padded batches and `prepacked:dense` keep bits to rounding, "
          "the others exactly.",
          fmt::format("`tree`, `packed`, `prefix_cached` and `hydragen` work in steps of {} rows; "
                      "`stacked` takes whole prompts in passes of up to 8,192 or of one context, "
                      "the others of up to 16,384.",
                      EngineOptions{}.step_rows)}};
  std::ranges::move(notes, std::back_inserter(table.notes));
  for (const char* name : kOthers) table.columns.emplace_back(name);
  table.columns.emplace_back("worst");
  table.columns.emplace_back("the best other");
  for (const Kind& kind : kinds) {
    fmt::print(stderr, "{}\n", kind.name);  // each takes a minute or so
    const auto model = harness.model(kind.model);
    std::vector<Contestant> contestants = {{.name = "tree", .sharing = "tree", .model = model}};
    for (const char* name : kOthers)
      contestants.push_back({.name = name,
                             .sharing = name == std::string_view("radix") ? kind.radix : name,
                             .model = model,
                             .at_most = asked_at_most(name, kind)});
    const int n_repetitions = harness.quick() ? 1 : kind.n_repetitions;
    const std::vector<Lane> lanes =
        harness.contest(contestants, kind.make(model->info().vocab), n_repetitions, kHopeless);
    note_missing(table, kind.name, lanes);
    std::vector<std::string> cells = {kind.name, harness.name(kind.model),
                                      number(lanes[0].seconds()), std::to_string(n_repetitions)};
    double worst = std::numeric_limits<double>::infinity();
    std::string best;
    for (size_t i = 1; i < lanes.size(); ++i) {
      const double times = times_faster(lanes[0], lanes[i]);
      cells.push_back(number(times));
      if (times < worst) {
        worst = times;
        best = lanes[i].name;
      }
    }
    fmt::print(stderr, "  {} beside {}\n", number(worst), best);  // a run that is ended leaves this
    cells.push_back(number(worst));
    cells.push_back(best);
    table.add(std::move(cells));
  }
  harness.show(table, {.columns = {"worst"}});
}

// Tells what planners without sharing are asked.
std::string part_note(const char* part) {
  return fmt::format(
      "Those without sharing are asked {}, `radix` as many as a pass holds; ratios are of times "
      "for "
      "a request.",
      part);
}

}  // namespace

std::vector<Benchmark> planner_benchmarks() {
  return {
      {{"planners",
        "tree beside every other planner: questions, single prompts and answers",
        {.model = true}},
       [](Harness& harness) {
         run_kinds(harness, shapes(harness),
                   {part_note("of NarrativeQA two questions, of LongHealth one, of 64 answers "
                              "eight")});
       }},
      {{"planners-hydragen",
        "tree beside every other planner: decoding behind a long prefix",
        {.model = true}},
       [](Harness& harness) { run_kinds(harness, hydragens(harness), {part_note("one answer")}); }},
      {{"planners-radixmlp",
        "tree beside every other planner: prefill of prompts that begin alike",
        {.model = true}},
       [](Harness& harness) {
         run_kinds(harness, radixmlps(harness),
                   {"Those without sharing are asked two prompts, `radix` all in one pass; "
                    "ratios are of times for a request."});
       }},
      {{"planners-texts",
        "tree beside every other planner: prompts of real lengths, and reranking",
        {.model = true, .files = {kQwenTokenizer, kWikitext, kMmlu, kAlpaca, kTrec19, kTrec20}}},
       [](Harness& harness) { run_kinds(harness, texts(harness), {}); }}};
}

}  // namespace pando::lab
