// Prefill and decode of a whole engine: tokens per second, and where the time went.
//
//   engine_bench MODEL [ROW...] [--weights q8_0] [--kv f16] [--threads 2] [--repeat 3]
//                [--kv-memory 896]
//
// A ROW is prefill:N, N tokens of a prompt at once; decode:P, one sequence behind P tokens; or
// shared:P:S, S sequences that share P tokens and nothing else. Of every row the median of its
// repetitions, in turn with the other rows, after memory for keys and values (MiB) was in use once.
// MODEL is a directory of `pando make-model`; prompts are random tokens, and nothing is drawn:
// answers take the likeliest token.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "pando/engine.h"

namespace pando {
namespace {

constexpr int kDecoded = 16;  // tokens of every answer

struct Row {
  std::string name, kind;
  int n_prompt = 0, n_sequences = 1;
};

Row parse(const std::string& text) {
  Row row{.name = text};
  char kind[16];
  const int n = std::sscanf(text.c_str(), "%15[a-z]:%d:%d", kind, &row.n_prompt, &row.n_sequences);
  row.kind = n >= 2 ? kind : "";
  if ((row.kind != "prefill" && row.kind != "decode" && row.kind != "shared") || row.n_prompt < 1 ||
      row.n_sequences < 1) {
    std::fprintf(stderr, "'%s' is no row, expected prefill:N, decode:P or shared:P:S\n",
                 text.c_str());
    std::exit(2);
  }
  return row;
}

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class T>
T value_of(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

class Bench {
 public:
  Bench(std::shared_ptr<const Model> model, const EngineOptions& options)
      : engine_(value_of(Engine::open(std::move(model), options))) {}

  struct Sample {
    double seconds;
    double processor_seconds;  // of all threads; other work on the machine does not count
    int n_tokens;
    EngineStats stats;
  };

  uint64_t evicted_pages() const { return engine_->stats().evicted_pages; }

  Sample run(const Row& row) {
    std::vector<Token> prompt = tokens(row.n_prompt);
    if (row.kind == "prefill") return timed({request(prompt, 1)}, row.n_prompt);
    value_of(engine_->complete(request(prompt, 1)));  // what is shared is there
    std::vector<Request> requests;
    for (int i = 0; i < row.n_sequences; ++i) {
      requests.push_back(request(prompt, kDecoded));
      if (row.kind == "shared") requests.back().tokens.push_back(random_token());
    }
    return timed(std::move(requests), row.n_sequences * kDecoded);
  }

 private:
  Token random_token() {
    return static_cast<Token>(random_() % std::min(engine_->model().info().vocab, 32000));
  }
  std::vector<Token> tokens(int n) {
    std::vector<Token> all(n);
    for (Token& token : all) token = random_token();
    return all;
  }
  static Request request(const std::vector<Token>& prompt, int n_tokens) {
    Request request;
    request.tokens = prompt;
    request.sampling.max_tokens = n_tokens;
    request.sampling.ignore_eos = true;
    return request;
  }
  Sample timed(std::vector<Request> requests, int n_tokens) {
    const EngineStats before = engine_->stats();
    const double busy = processor_seconds();
    const auto start = std::chrono::steady_clock::now();
    value_of(engine_->complete_all(std::move(requests)));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return {seconds.count(), processor_seconds() - busy, n_tokens, engine_->stats().since(before)};
  }

  std::mt19937 random_{1};
  std::unique_ptr<Engine> engine_;
};

void print(const Row& row, std::vector<Bench::Sample> samples) {
  const auto by = [&](double Bench::Sample::*key) {
    std::sort(samples.begin(), samples.end(),
              [&](const auto& a, const auto& b) { return a.*key < b.*key; });
    return samples[samples.size() / 2];
  };
  const Bench::Sample busy = by(&Bench::Sample::processor_seconds);
  const Bench::Sample s = by(&Bench::Sample::seconds);
  const double percent = 100 / s.stats.step_s;
  std::printf("| %s | %.1f | %.1f | %.1f | %.1f | %.0f | %.0f | %.1f | %.1f | %.1f | %.0f |\n",
              row.name.c_str(), s.n_tokens / s.seconds, samples[0].n_tokens / samples[0].seconds,
              busy.n_tokens / busy.processor_seconds,
              1e3 * s.seconds / static_cast<double>(s.stats.steps), percent * s.stats.linear_s,
              percent * s.stats.attention_s, percent * s.stats.row_ops_s,
              percent * s.stats.sampling_s, percent * s.stats.planning_s,
              1e-9 * s.stats.linear_flops / s.stats.linear_s);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  ModelOptions model;
  EngineOptions options;
  options.threads = 2;
  options.kv_memory = size_t{896} << 20;  // for the largest row
  std::vector<Row> rows;
  int n_repeats = 3;
  const std::map<std::string, WeightType> weights = {{"stored", WeightType::kAsStored},
                                                     {"q8_0", WeightType::kQ8_0},
                                                     {"q4_0", WeightType::kQ4_0},
                                                     {"int8", WeightType::kInt8}};
  const std::map<std::string, KvType> kv = {{"f32", KvType::kF32},
                                            {"f16", KvType::kF16},
                                            {"bf16", KvType::kBF16},
                                            {"int8", KvType::kInt8}};
  if (argc < 2) return std::fprintf(stderr, "usage: engine_bench MODEL [ROW...]\n"), 2;
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.substr(0, 2) != "--") {
      rows.push_back(parse(name));
      continue;
    }
    const std::string value = ++i < argc ? argv[i] : "";
    if (name == "--weights" && weights.count(value)) {
      model.weights = weights.at(value);
    } else if (name == "--kv" && kv.count(value)) {
      options.kv_type = kv.at(value);
    } else if (name == "--threads" && std::atoi(value.c_str()) > 0) {
      options.threads = std::atoi(value.c_str());
    } else if (name == "--kv-memory" && std::atoi(value.c_str()) > 0) {
      options.kv_memory = static_cast<size_t>(std::atoi(value.c_str())) << 20;
    } else if (name == "--repeat" && std::atoi(value.c_str()) > 0) {
      n_repeats = std::atoi(value.c_str());
    } else {
      return std::fprintf(stderr, "'%s %s' is no option\n", name.c_str(), value.c_str()), 2;
    }
  }
  if (rows.empty())
    for (const char* row : {"prefill:512", "prefill:2048", "decode:64", "shared:512:64",
                            "shared:2048:64", "shared:4096:64"})
      rows.push_back(parse(row));
  Bench bench(value_of(Model::load(argv[1], model)), options);
  std::vector<std::vector<Bench::Sample>> samples(rows.size());
  while (bench.evicted_pages() == 0)  // until all memory for keys and values has been touched
    for (const Row& row : rows) bench.run(row);
  for (int repeat = 0; repeat < n_repeats; ++repeat)
    for (size_t i = 0; i < rows.size(); ++i) samples[i].push_back(bench.run(rows[i]));
  std::printf(
      "| row | tokens/s | best | a processor second | ms a step | products %% | attention %% | row "
      "ops "
      "%% | sampling %% | planning %% | products, GOP/s "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < rows.size(); ++i) print(rows[i], samples[i]);
  return 0;
}

}  // namespace
}  // namespace pando

int main(int argc, char** argv) { return pando::run(argc, argv); }
