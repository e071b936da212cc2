// A whole data set: what sharing computes, against a count over token ids, and that it changes no
// bit.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "engine/tiny_engine.h"
#include "pando/answer.h"

namespace pando::testing {
namespace {

const std::filesystem::path kData = PANDO_SHARED_DATA;

// Every question of the file as a prompt of tokens.
std::vector<std::vector<Token>> squad_prompts(const Model& model) {
  FILE* pipe =
      popen(("gzip -dc '" + (kData / "squad-v2.0-dev-part1.json.gz").string() + "'").c_str(), "r");
  std::string text;
  char buffer[1 << 16];
  for (size_t n; pipe != nullptr && (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, n);
  if (pipe != nullptr) pclose(pipe);
  std::vector<std::vector<Token>> prompts;
  const nlohmann::json squad = nlohmann::json::parse(text);
  for (const auto& article : squad.at("data"))
    for (const auto& paragraph : article.at("paragraphs"))
      for (const auto& question : paragraph.at("qas"))
        prompts.push_back(
            *model.encode(render_prompt({}, paragraph.at("context"), question.at("question"))));
  return prompts;
}

struct Answers {
  std::vector<Completion> completions;
  EngineStats stats;
};

Answers answer_all(const std::shared_ptr<const Model>& model, const std::string& sharing,
                   const std::vector<std::vector<Token>>& prompts) {
  EngineOptions options;
  options.sharing = sharing;
  options.kv_memory = size_t{1} << 30;
  options.max_open = static_cast<int>(prompts.size());
  Result<std::unique_ptr<Engine>> opened = Engine::open(model, options);
  if (!opened) throw std::runtime_error(opened.error().message());
  const std::unique_ptr<Engine> engine = std::move(*opened);
  Answers answers;
  answers.completions.resize(prompts.size());
  std::mutex mutex;
  std::condition_variable changed;
  size_t n_open = prompts.size();
  for (size_t i = 0; i < prompts.size(); ++i) {
    Request request;
    request.tokens = prompts[i];
    request.sampling.max_tokens = 4;
    request.logits_hash = true;
    const Result<RequestId> id = engine->submit(request, [&, i](const Event& event) {
      if (!event.completion && !event.error) return;
      std::lock_guard lock(mutex);
      if (event.completion) answers.completions[i] = *event.completion;
      --n_open;
      changed.notify_one();
    });
    if (!id.ok()) throw std::runtime_error(id.error().message());
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return n_open == 0; });
  answers.stats = engine->stats();
  return answers;
}

// Distinct (path, token) pairs, by their definition.
class NaiveTrie {
 public:
  void insert(const std::vector<Token>& tokens) {
    uint64_t node = 0;
    for (const Token token : tokens)
      node = children_.try_emplace(node << 18 | static_cast<uint64_t>(token), children_.size() + 1)
                 .first->second;
  }
  uint64_t n_nodes() const { return children_.size(); }

 private:
  std::unordered_map<uint64_t, uint64_t> children_;  // by parent and token; ids below 2^18
};

TEST(Squad, AllQuestionsShareWhatTheyCanAndChangeNoBit) {
  if (std::getenv("PANDO_SLOW_TESTS") == nullptr) GTEST_SKIP() << "set PANDO_SLOW_TESTS to run it";
  if (!std::filesystem::exists(kData)) GTEST_SKIP() << "no data sets in " << kData;
  TemporaryFolder folder;
  RandomModelOptions options;
  options.shape = "tiny-llama";
  options.out = folder.path();
  options.n_layers = 1;
  options.vocab = 151936;
  options.tokenizer = kData / "tokenizers" / "qwen2.5";
  const Status made = make_random_model(options);
  ASSERT_TRUE(made.ok()) << made.error().message();
  Result<std::shared_ptr<const Model>> model = Model::load(folder.path());
  ASSERT_TRUE(model.ok()) << model.error().message();
  const std::vector<std::vector<Token>> prompts = squad_prompts(**model);
  ASSERT_EQ(prompts.size(), 6078u);

  std::map<std::string, Answers> runs;
  for (const char* sharing : {"tree", "packed"}) {
    const Answers& run = runs[sharing] = answer_all(*model, sharing, prompts);
    NaiveTrie trie;
    uint64_t n_unshared = 0, n_prompt = 0;
    for (size_t i = 0; i < prompts.size(); ++i) {
      std::vector<Token> path = prompts[i];
      const std::vector<Token>& generated = run.completions[i].tokens;
      ASSERT_FALSE(generated.empty()) << "question " << i;
      path.insert(path.end(), generated.begin(), generated.end() - 1);
      trie.insert(path);
      n_unshared += path.size();
      n_prompt += prompts[i].size();
    }
    const EngineStats& stats = run.stats;
    EXPECT_EQ(stats.preemptions, 0u);
    EXPECT_EQ(stats.evicted_pages, 0u);
    EXPECT_EQ(stats.prompt_tokens, n_prompt);
    const bool shares = std::string(sharing) == "tree";
    EXPECT_EQ(stats.prefill_rows + stats.decode_rows,
              (shares ? trie.n_nodes() : n_unshared) + stats.recomputed_rows);
    EXPECT_TRUE(shares || stats.recomputed_rows == 0);
    printf(
        "%s: %zu prompt tokens, %zu rows for prompts, %zu for answers, %zu of both recomputed, "
        "%.1f s\n",
        sharing, size_t{stats.prompt_tokens}, size_t{stats.prefill_rows}, size_t{stats.decode_rows},
        size_t{stats.recomputed_rows}, stats.step_s);
  }
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Completion &a = runs["tree"].completions[i], &b = runs["packed"].completions[i];
    ASSERT_EQ(a.logits_hash, b.logits_hash) << "question " << i;
    ASSERT_EQ(a.tokens, b.tokens) << "question " << i;
  }
}

}  // namespace
}  // namespace pando::testing
