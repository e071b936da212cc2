// Places of models with recurrent layers: how many rows a trace of prompts costs by where states
// are kept, for so many slots. The measure is that of arXiv 2605.05219: rows that are computed
// again because no state was kept where a prompt leaves a path.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/check.h"
#include "cache/kv_cache.h"
#include "lab/data/data_sets.h"
#include "lab/data/file_names.h"
#include "lab/papers/papers.h"

namespace pando::lab {
namespace {

constexpr uint32_t kUnit = 512;  // tokens; prompts are counted in these, as the traces have them

// Prompts in units, in the order in which they are asked. Equal units of a beginning are equal
// tokens.
struct Trace {
  std::string name;
  std::vector<std::vector<Token>> prompts;
};

// Says where states are kept behind a prompt, beside its end.
struct Keeping {
  const char* name;
  bool partings;
  uint32_t every;  // units; 0: nowhere else
};
constexpr Keeping kKeepings[] = {
    {"ends of prompts", false, 0},
    {"every 2,048 tokens", false, 4},
    {"every 512 tokens", false, 1},
    {"partings", true, 0},
    {"partings, every 2,048 tokens (pando)", true, 4},
};

Trace mooncake(const Harness& harness, const char* name, std::string_view file) {
  Trace trace{name, {}};
  std::istringstream lines(read_data(harness.data(file)));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json record = nlohmann::json::parse(line);
    trace.prompts.push_back(record.at("hash_ids").get<std::vector<Token>>());
    std::vector<Token>& prompt = trace.prompts.back();
    // The last unit is not full, so it is its own.
    if (record.at("input_length").get<uint32_t>() % kUnit != 0 && !prompt.empty())
      prompt.back() = (1 << 29) + static_cast<Token>(trace.prompts.size());
    if (prompt.empty()) trace.prompts.pop_back();
  }
  return trace;
}

// Documents of about 8,000 tokens, 32 questions each, four documents in turn.
Trace questions() {
  Trace trace{"32 questions on each of 40 documents of 8,192 tokens", {}};
  constexpr int kAtATime = 4, kDocuments = 40, kQuestions = 32, kLength = 16;
  Token next = 0;
  for (int first = 0; first < kDocuments; first += kAtATime)
    for (int question = 0; question < kQuestions; ++question)
      for (int document = first; document < first + kAtATime; ++document) {
        std::vector<Token> prompt;
        for (int i = 0; i < kLength; ++i) prompt.push_back((1 << 28) + document * kLength + i);
        prompt.push_back(next++);
        trace.prompts.push_back(std::move(prompt));
      }
  return trace;
}

void keep(Places& places, Node* tip, uint32_t position) {
  if (Place* place = places.add(tip, position)) place->kept = true;
}

// Units that the prompts compute one after another, with room for all pages.
uint64_t units_of(const Trace& trace, const Keeping& keeping, size_t n_slots) {
  size_t n_units = 0;
  for (const auto& prompt : trace.prompts) n_units += prompt.size();
  PagePool pool(n_units);
  KvCache cache(pool, 1, n_slots);
  Places& places = cache.places();
  uint64_t n_computed = 0;
  for (const auto& prompt : trace.prompts) {
    Node* const tip = cache.acquire(0, prompt);
    const auto length = static_cast<uint32_t>(prompt.size());
    Place* const from = places.nearest(tip, length - 1);  // the last unit gives the answer
    const uint32_t begin = from == nullptr ? 0 : from->position;
    if (from != nullptr) places.hold(*from);
    n_computed += length - begin;
    cache.lock(tip);
    std::vector<Extent> extents;
    for (Node* node : path_to(tip))
      if (node->n_issued < node->size()) extents.push_back({node, node->size() - node->n_issued});
    if (!cache.reserve(extents)) throw BugError("there are pages for all");
    keep(places, tip, length);
    for (Node* node : path_to(tip))
      if (keeping.partings && node->end() > begin && node->children.size() > 1)
        keep(places, tip, node->end());
    for (uint32_t at = keeping.every; keeping.every > 0 && at < length; at += keeping.every)
      if (at > begin) keep(places, tip, at);
    cache.submit();
    cache.commit();
    if (from != nullptr) places.release(*from);
    cache.unlock(tip);
    cache.release(tip);
  }
  return n_computed;
}

void run_places(Harness& harness) {
  const Trace traces[] = {questions(),
                          mooncake(harness, "Mooncake, conversations", kMooncakeConversation),
                          mooncake(harness, "Mooncake, synthetic", kMooncakeSynthetic)};
  for (const Trace& trace : traces) {
    uint64_t n_all = 0;
    for (const auto& prompt : trace.prompts) n_all += prompt.size();
    Table table{
        .title = "Rows computed, % of all rows of prompts: " + trace.name,
        .columns = {"states are kept at"},
        .notes = {fmt::format("{} prompts, {} tokens in units of {}, one after another; all "
                              "keys and values stay. The state at the end of a prompt is "
                              "always kept.",
                              trace.prompts.size(), n_all * kUnit, kUnit)}};
    const std::vector<size_t> slots = {8, 32, 128, 512, 2048, 1 << 20};
    for (const size_t n : slots)
      table.columns.push_back(n == slots.back() ? "all" : fmt::format("{} slots", n));
    for (const Keeping& keeping : kKeepings) {
      std::vector<std::string> row = {keeping.name};
      for (const size_t n : slots)
        row.push_back(number(100.0 * static_cast<double>(units_of(trace, keeping, n)) /
                             static_cast<double>(n_all)));
      table.add(std::move(row));
    }
    harness.show(table);
  }
}

}  // namespace

std::vector<Benchmark> place_benchmarks() {
  return {{{"places",
            "rows that are computed again, by where states of recurrent layers are kept",
            {.files = {kMooncakeConversation, kMooncakeSynthetic}, .threads = false}},
           run_places}};
}

}  // namespace pando::lab
