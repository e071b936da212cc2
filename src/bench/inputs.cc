#include "bench/inputs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/errors.h"

namespace pando::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTokenizer = "tokenizers/qwen2.5", kNovel = "war-and-peace.txt",
                           kMmlu = "mmlu-test.jsonl.gz", kTrec19 = "trec-dl19-bm25-top100.jsonl.gz",
                           kTrec20 = "trec-dl20-bm25-top100.jsonl.gz";

struct Entry {
  std::string_view benchmark;
  Inputs inputs;
};

const std::vector<Entry>& entries() {
  const std::vector<std::string_view> mixes = {kTokenizer, "wikitext-2-test.txt", kMmlu,
                                               "alpaca-en-demo.jsonl"};
  static const std::vector<Entry> all = {
      {"speed", {.model = true}},
      {"compare", {.model = true, .peers = true}},
      {"peak", {}},
      {"gemm", {}},
      {"attention", {}},
      {"exactness-cost", {}},
      {"ippd-table-5", {.model = true}},
      {"ippd-table-1",
       {.files = {kTokenizer, "squad-v2.0-dev-part1.json.gz", "race-test.jsonl.gz",
                  "fairytaleqa-train.jsonl.gz"},
        .threads = false}},
      {"ippd-table-2", {.model = true}},
      {"ippd-table-3", {.model = true}},
      {"hydragen-figure-3", {.model = true}},
      {"hydragen-figure-4", {}},
      {"hydragen-tables-1-2", {.model = true}},
      {"hydragen-figure-5", {.model = true, .files = {kTokenizer, kNovel}}},
      {"hydragen-figure-6", {.model = true, .files = {kTokenizer, "mbpp-1-600.jsonl"}}},
      {"needles", {.model = true, .files = {kNovel}, .files_optional = true}},
      {"prepacking-table-1", {.files = mixes, .threads = false}},
      {"prepacking-figure-2", {.model = true, .files = mixes}},
      {"prepacking-figure-3", {.model = true, .files = mixes}},
      {"prepacking-figure-4", {.model = true}},
      {"prepacking-figure-5", {.files = {kTokenizer, kMmlu}, .threads = false}},
      {"prepacking-figure-6", {.model = true, .files = mixes}},
      {"prepacking-figure-8", {.model = true, .files = mixes}},
      {"prepacking-figure-9", {.model = true}},
      {"radixmlp-table-1", {.model = true}},
      {"radixmlp-table-2", {.model = true}},
      {"radixmlp-table-3", {.model = true}},
      {"radixmlp-figure-2", {.model = true}},
      {"radixmlp-figure-3", {.model = true}},
      {"radixmlp-table-5", {.threads = false}},
      {"radixmlp-table-6", {}},
      {"radixmlp-memory", {.model = true}},
      {"medha-figure-3", {.model = true}},
      {"medha-figure-4", {.model = true}},
      {"serve",
       {.model = true, .files = {"traces/azure-llm-2023-conv.csv"}, .files_optional = true}},
      {"reranking", {.model = true, .files = {kTokenizer, kTrec19, kTrec20}}},
      {"planners", {.model = true}},
      {"planners-hydragen", {.model = true}},
      {"planners-radixmlp", {.model = true}},
      {"planners-texts",
       {.model = true, .files = {kTokenizer, mixes[1], mixes[2], mixes[3], kTrec19, kTrec20}}},
  };
  return all;
}

}  // namespace

Result<Inputs> inputs_of(std::string_view benchmark) {
  const auto found = std::ranges::find(entries(), benchmark, &Entry::benchmark);
  if (found == entries().end()) return not_found("no inputs are known of '{}'", benchmark);
  return found->inputs;
}

std::string in_words(const Inputs& inputs) {
  std::vector<const char*> words;
  if (inputs.peers) words.push_back("needs --peer");
  if (!inputs.files.empty())
    words.push_back(inputs.files_optional ? "takes --data" : "needs --data");
  if (inputs.model) words.push_back("takes --model");
  return fmt::format("{}", fmt::join(words, ", "));
}

Status check_inputs(std::string_view benchmark, const Settings& settings) {
  const Result<Inputs> found = inputs_of(benchmark);
  if (!found) return found.error();
  const Inputs& inputs = *found;
  const auto useless = [&](const char* option) {
    return invalid_argument("{}: {} has no use for it (hint: `pando bench list` says which have)",
                            option, benchmark);
  };
  if (!settings.model.empty() && !inputs.model) return useless("--model");
  if (!settings.data.empty() && inputs.files.empty()) return useless("--data");
  if (!settings.peers.empty() && !inputs.peers) return useless("--peer");
  if (settings.threads != 0 && !inputs.threads)
    return invalid_argument("--threads: {} has one thread, expected no --threads", benchmark);
  if (settings.peers.empty() && inputs.peers)
    return invalid_argument("{} without --peer, expected --peer COMMAND", benchmark);
  if (settings.data.empty()) {
    if (inputs.files.empty() || inputs.files_optional) return {};
    return invalid_argument("{} needs {}: expected --data DIRECTORY with published data sets",
                            benchmark, fmt::join(inputs.files, ", "));
  }
  if (!fs::is_directory(settings.data))
    return not_found("--data: no directory {}", settings.data.string());
  std::vector<std::string> missing;
  for (const std::string_view file : inputs.files)
    if (!fs::exists(settings.data / file)) missing.push_back((settings.data / file).string());
  if (missing.empty()) return {};
  return not_found("no file {}, expected in --data by {}", fmt::join(missing, ", "), benchmark);
}

}  // namespace pando::bench
