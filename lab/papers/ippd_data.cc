// Tables 1 to 3 of "Intra-Prompt Parallel Decoding for Common-Context Question Answering", on
// published data and by the demo model.
#include <fmt/format.h>

#include "bench/tokens.h"
#include "lab/data/demo.h"
#include "lab/data/file_names.h"
#include "lab/data/prompts.h"
#include "lab/papers/attention_dimensions.h"
#include "lab/papers/ippd_sets.h"
#include "lab/papers/papers.h"

namespace pando::lab {
namespace {

void run_ippd_table_1(Harness& harness) {
  const TextTokens tokens(harness, 1 << 30);
  Table table{
      .title = "Tokens of instruction, context, question and answer, means",
      .columns = {"data set", "contexts", "questions a context", "instruction", "context",
                  "question", "answer", "paper: contexts", "paper: questions a context",
                  "paper: instruction", "paper: context", "paper: question", "paper: answer"},
      .notes = {
          "Tokens of Qwen2.5; Qwen3 has the same words. SQuAD is half of the development set; "
          "FairytaleQA (whole stories) stands in for NarrativeQA (summaries, behind five "
          "examples); LongHealth is not here. Instructions are our own."}};
  const auto row = [&](const char* name, const char* instruction, std::vector<QaDocument> documents,
                       std::vector<std::string> paper) {
    if (harness.quick()) documents.erase(documents.begin() + 20, documents.end());
    double n = 0, context = 0, question = 0, answer = 0;
    for (const QaDocument& document : documents) {
      context += static_cast<double>(tokens(document.text).size());
      for (size_t i = 0; i < document.questions.size(); ++i, ++n) {
        question += static_cast<double>(tokens(document.questions[i]).size());
        answer += static_cast<double>(tokens(document.answers[i]).size());
      }
    }
    const auto n_contexts = static_cast<double>(documents.size());
    std::vector<std::string> cells = {name,
                                      std::to_string(documents.size()),
                                      number(n / n_contexts),
                                      std::to_string(tokens(instruction).size()),
                                      number(context / n_contexts),
                                      number(question / n),
                                      number(answer / n)};
    cells.insert(cells.end(), paper.begin(), paper.end());
    table.add(std::move(cells));
  };
  row("SQuAD 2.0",
      "Answer the question with words of the passage, as few as possible. Where the passage does "
      "not answer it, write null.",
      squad_documents(harness), {"1365", "8.70", "47", "178", "12.6", "3.94"});
  row("RACE", "Read the passage and choose the right option. Answer with its letter: A, B, C or D.",
      race_documents(harness), {"1407", "3.51", "40", "344", "39.8", "1"});
  row("FairytaleQA", "Read the story and answer the question in a few words.",
      fairytale_documents(harness), {"355", "29.7", "2754", "737", "12.0", "5.81"});
  harness.show(table, {.columns = {"context"}});
}

void run_ippd_table_2(Harness& harness) {
  const auto model = demo_model(harness);
  std::vector<QaDocument> documents = demo_documents();
  documents.resize(harness.choose<size_t>(1, 3, documents.size()));
  std::vector<Contestant> contestants;
  for (const char* name : {"packed", "tree", "prefix_cached", "radix:threshold=1", "prepacked",
                           "prepacked:dense", "padded", "length_ordered", "hydragen", "stacked"})
    contestants.push_back({.name = name, .sharing = name, .model = model});
  const std::vector<Lane> lanes = harness.contest(contestants, [&](int repetition) {
    return Workload{.timed = demo_requests(*model, documents, 24, repetition)};
  });
  size_t n_questions = 0;
  for (const QaDocument& document : documents) n_questions += document.questions.size();
  Table table{
      .title = fmt::format("Answers to {} questions about {} documents, by planner", n_questions,
                           documents.size()),
      .columns = {"planner", "exact match with packed, %", "answers right, %", "token F1, %",
                  "ROUGE-L, %", "seconds"},
      .notes = {"By the demo model where no --model is given. The paper: IPPD and padded batches "
                "match in 91.3% of answers (Phi4-14B, NarrativeQA) to 100% (Qwen3-8B, LongHealth), "
                "because sums are made "
                "in another order. Planners that are exact match always."}};
  note_missing(table, "these", lanes);
  for (const Lane& lane : lanes) {
    if (lane.samples.empty()) continue;
    const Scores scores = scores_of(documents, lane.samples[0]);
    table.add({lane.name, number(same_answers(lane.samples[0], lanes[0].sample(0))),
               number(100 * scores.exact_match), number(100 * scores.token_f1),
               number(100 * scores.rouge_l), number(lane.seconds())});
  }
  harness.show(table, {.columns = {"exact match with packed, %"}});
}

void run_ippd_table_3(Harness& harness) {
  const ModelSpec spec{.shape = "qwen3-0.6b", .n_layers = 1, .vocab = 32000};
  const auto model = harness.model(spec);
  Table table{
      .title = fmt::format("Dimensions of attention, one context with all its questions; {}",
                           harness.name(spec)),
      .columns = {"data set", "planner", "prefill q, K", "next q, K", "prefills", "decode q, K",
                  "decodes", "keys read", "query-key pairs", "attention, ms", "all, ms"},
      .notes = {
          "By formula, as IPPD's table 3 and appendix A.2, with lengths of its table 1; pairs "
          "include those that a mask hides. Times are measured, decoding from the prefill's "
          "token on. `prefix_cached` and `tree` differ from the table in that the first "
          "prefill of all questions is one pass."}};
  struct Method {
    const char* name;
    const char* sharing;
    AttentionDimensions (*of)(const QaShape&);
  };
  constexpr Method kMethods[] = {{"prefix_cached", "prefix_cached", prefix_cached_dimensions},
                                 {"stacked", "stacked:contexts=1", stacked_dimensions},
                                 {"tree", "tree", tree_dimensions}};
  for (const PaperSet& set : kPaperSets) {
    if (!harness.full() && set.shape.n_prompt() > harness.choose(1000, 5000, 0)) continue;
    std::vector<Contestant> contestants;
    for (const Method& method : kMethods)
      contestants.push_back({.name = method.name, .sharing = method.sharing, .model = model});
    const std::vector<Lane> lanes = harness.contest(contestants, [&](int repetition) {
      RandomTokens random(static_cast<uint64_t>(repetition), model->info().vocab);
      return Workload{.timed = questions_of(set.shape, 1, random)};
    });
    note_missing(table, set.name, lanes);
    for (size_t i = 0; i < lanes.size(); ++i) {
      const AttentionDimensions d = kMethods[i].of(set.shape);
      const auto pair = [](double q, double kv) {
        return kv == 0 ? "-" : fmt::format("{:.0f}, {:.0f}", q, kv);
      };
      table.add({set.name, kMethods[i].name, pair(d.prefill_q, d.prefill_kv),
                 pair(d.next_q, d.next_kv), number(d.prefills),
                 d.decodes == 0 ? "-" : pair(d.decode_q, d.decode_kv), number(d.decodes),
                 number(d.reads), number(d.products),
                 number(1e3 * lanes[i].seconds_of(&EngineStats::attention_s)),
                 number(1e3 * lanes[i].seconds())});
    }
  }
  harness.show(table, {.n_names = 2, .columns = {"attention, ms"}});
}

}  // namespace

std::vector<Benchmark> ippd_data_benchmarks() {
  return {
      {{"ippd-table-1",
        "tokens of contexts, questions and answers in data sets",
        {.files = {kQwenTokenizer, kSquad, kRace, kFairytales}, .threads = false}},
       run_ippd_table_1},
      {{"ippd-table-2", "the same answers from every planner, by the demo model", {.model = true}},
       run_ippd_table_2},
      {{"ippd-table-3", "dimensions of attention by formula, and its time", {.model = true}},
       run_ippd_table_3}};
}

}  // namespace pando::lab
