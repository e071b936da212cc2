// Likelihoods of continuations and of texts, against requests of their own.
#include "pando/score.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

const std::string kPrefix = "The colour of the leaves in autumn is";

// ln p of the bytes of `text` from `from` on, one request for each, with nothing shared.
std::vector<float> logprobs_one_by_one(const std::string& text, size_t from) {
  std::vector<float> logprobs;
  for (size_t i = from; i < text.size(); ++i) {
    EngineOptions options = tiny_options();
    options.sharing = "packed";
    Request request = tiny_request(text.substr(0, i + 1), 0);
    request.prompt_logprobs_from = static_cast<int>(i);
    const auto completion = open_tiny(options)->complete(request);
    EXPECT_TRUE(completion.ok());
    EXPECT_EQ((*completion)[0].prompt_logprobs.at(0).token,
              static_cast<Token>(static_cast<unsigned char>(text[i])));
    logprobs.push_back((*completion)[0].prompt_logprobs.at(0).logprob);
  }
  return logprobs;
}

TEST(Score, ContinuationsAreTheSumsOfTheirTokens) {
  const std::vector<std::string> continuations = {" gold", " red", " go", " gold", "!"};
  const std::unique_ptr<Engine> engine = open_tiny();
  const auto scores = score(*engine, kPrefix, continuations);
  ASSERT_TRUE(scores.ok()) << scores.error().message();
  for (size_t i = 0; i < continuations.size(); ++i) {
    double expected = 0;
    for (const float logprob : logprobs_one_by_one(kPrefix + continuations[i], kPrefix.size()))
      expected += logprob;
    EXPECT_EQ((*scores)[i].logprob, expected);
    EXPECT_EQ((*scores)[i].n_tokens, static_cast<int>(continuations[i].size()));
  }
  EXPECT_EQ((*scores)[0].logits_hash, (*scores)[3].logits_hash);
  // The last token of a continuation is never computed: " gold" 4 rows, " red" 2 more, "!" none.
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.prefill_rows - stats.recomputed_rows, kPrefix.size() + 4 + 2);
}

// ln p of each continuation, each a request of its own or joined, and the rows that were computed.
struct Scored {
  std::vector<double> logprobs;
  std::vector<uint64_t> hashes;
  size_t n_requests;
  uint64_t n_rows;
};
Scored scored(const std::vector<std::string>& continuations, std::string_view sharing,
              bool are_joined) {
  EngineOptions options = tiny_options();
  options.sharing = sharing;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  std::vector<Request> requests =
      continuation_requests(engine->model(), kPrefix, continuations).value();
  if (are_joined) {
    const std::vector<Request> apart = requests;
    requests = joined(std::move(requests));
    for (size_t i = 0; i < requests.size(); ++i)
      EXPECT_EQ(apart[first_of(requests, i)].tokens, requests[i].tokens);
  }
  for (Request& request : requests) request.logits_hash = true;
  Scored found{.n_requests = requests.size()};
  const auto completions = engine->complete_all(std::move(requests));
  for (const Completion& completion : taken_apart(*completions)) {
    found.logprobs.push_back(continuation_score(completion).logprob);
    found.hashes.push_back(completion.logits_hash);
  }
  found.n_rows = engine->stats().prefill_rows;
  return found;
}

TEST(Score, SingleTokensBehindOnePromptAreOneRequest) {
  const std::vector<std::string> continuations = {"!", "?", " gold", ".", "!", ","};
  const size_t n_prefix = kPrefix.size();
  for (const std::string_view sharing : {"tree", "packed", "prefix_cached"}) {
    const Scored apart = scored(continuations, sharing, /*are_joined=*/false);
    const Scored joint = scored(continuations, sharing, /*are_joined=*/true);
    EXPECT_EQ(apart.n_requests, 6u);
    EXPECT_EQ(joint.n_requests, 3u);
    EXPECT_EQ(joint.logprobs, apart.logprobs) << sharing;
    EXPECT_EQ(joint.hashes, apart.hashes) << sharing;
    if (sharing != "packed") continue;
    EXPECT_EQ(apart.n_rows, 6 * n_prefix + 4);
    EXPECT_EQ(joint.n_rows, 3 * n_prefix + 4);
  }
}

TEST(Score, WhatIsJoinedCanBeJoinedFurther) {
  const auto requests_for = [](const std::vector<std::string>& continuations) {
    return joined(continuation_requests(open_tiny()->model(), kPrefix, continuations).value());
  };
  std::vector<Request> requests = requests_for({"!", "?"});
  for (Request& request : requests_for({".", ","})) requests.push_back(std::move(request));
  requests = joined(std::move(requests));
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].tokens.back(), '!');
  EXPECT_EQ(requests[0].alternatives, (std::vector<Token>{'?', '.', ','}));
}

TEST(Score, AlternativesHaveTheirLikeliestBesideThem) {
  Request request = tiny_request(kPrefix + "!", 0);
  request.prompt_logprobs_from = 1;
  request.sampling.top_logprobs = 257;
  for (Token token = 0; token < 257; ++token) request.alternatives.push_back(token);
  const auto completion = open_tiny()->complete(request);
  ASSERT_TRUE(completion.ok()) << completion.error().message();
  const Completion& found = (*completion)[0];
  EXPECT_EQ(found.prompt_logprobs.size(), kPrefix.size());
  ASSERT_EQ(found.alternatives.size(), 257u);
  double sum = 0;
  int n_likeliest = 0;
  for (Token token = 0; token < 257; ++token) {
    const TokenLogprob& one = found.alternatives[token];
    EXPECT_EQ(one.token, token);
    EXPECT_EQ(one.top, found.alternatives[0].top);
    EXPECT_EQ(one.likeliest, one.top[0].first == token);
    n_likeliest += one.likeliest;
    sum += std::exp(one.logprob);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_EQ(n_likeliest, 1);
  EXPECT_EQ(found.alternatives['!'].logprob, found.prompt_logprobs.back().logprob);
}

TEST(Score, TheSameBitsWithAWarmCache) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request = tiny_request(kPrefix + " gold and red", 0);
  request.prompt_logprobs_from = 1;
  request.sampling.top_logprobs = 3;
  const auto cold = engine->complete(request);
  const auto warm = engine->complete(request);
  ASSERT_TRUE(cold.ok() && warm.ok());
  const size_t n = request.prompt.size();
  EXPECT_EQ(engine->stats().recomputed_rows, n - 1);
  const Completion &a = (*cold)[0], &b = (*warm)[0];
  ASSERT_EQ(a.prompt_logprobs.size(), n - 1);
  EXPECT_EQ(a.logits_hash, b.logits_hash);
  for (size_t i = 0; i < n - 1; ++i) {
    EXPECT_EQ(a.prompt_logprobs[i].logprob, b.prompt_logprobs[i].logprob);
    EXPECT_EQ(a.prompt_logprobs[i].top, b.prompt_logprobs[i].top);
    EXPECT_EQ(a.prompt_logprobs[i].top.size(), 3u);
    EXPECT_EQ(a.prompt_logprobs[i].likeliest,
              a.prompt_logprobs[i].top[0].first == a.prompt_logprobs[i].token);
  }
}

TEST(Score, ChoicesOfOnePromptShareItsLogprobs) {
  EngineOptions options = tiny_options();
  options.step_rows = 50;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  Request request = tiny_request(std::string(200, 'x'), 1);
  request.prompt_logprobs_from = 1;
  request.sampling.n = 8;
  ASSERT_TRUE(engine->complete(request).ok());
  EXPECT_EQ(engine->stats().prefill_rows, 200u);
}

TEST(Score, GreedyTextIsLikeliest) {
  const auto completion = open_tiny()->complete(tiny_request(kPrefix, 5));
  ASSERT_TRUE(completion.ok());
  Request request;
  for (const char c : kPrefix) request.tokens.push_back(static_cast<unsigned char>(c));
  const std::vector<Token>& answer = (*completion)[0].tokens;
  request.tokens.insert(request.tokens.end(), answer.begin(), answer.end());
  request.sampling.max_tokens = 0;
  request.prompt_logprobs_from = static_cast<int>(kPrefix.size());
  const auto scored = open_tiny()->complete(request);
  ASSERT_TRUE(scored.ok());
  EXPECT_TRUE(continuation_score((*scored)[0]).likeliest);
  request.tokens.back() ^= 1;
  EXPECT_FALSE(continuation_score((*open_tiny()->complete(request))[0]).likeliest);
}

TEST(Score, NothingToScoreIsRefused) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const auto empty = score(*engine, kPrefix, {" gold", ""});
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().message(), "continuation 1 is empty, expected at least one character");
  EXPECT_EQ(empty.error().place.field, "continuations[1]");
  const auto first = score(*engine, "", {"gold"});
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().message(),
            "the prompt is empty, expected at least one token before the continuations");
  EXPECT_EQ(first.error().place.field, "prompt");
}

TEST(Perplexity, OfOneWindow) {
  const std::string text = "Leaves fall in autumn.";
  const auto found = perplexity(*open_tiny(), text);
  ASSERT_TRUE(found.ok()) << found.error().message();
  double sum = 0;
  for (const float logprob : logprobs_one_by_one(text, 1)) sum += logprob;
  EXPECT_DOUBLE_EQ(found->log_likelihood, sum);
  EXPECT_EQ(found->n_tokens, text.size() - 1);
  EXPECT_EQ(found->n_bytes, text.size());
  EXPECT_DOUBLE_EQ(found->perplexity(), std::exp(-sum / static_cast<double>(text.size() - 1)));
  EXPECT_DOUBLE_EQ(found->bits_per_byte(), -sum / std::log(2.0) / static_cast<double>(text.size()));
}

TEST(Perplexity, WindowsScoreEachTokenOnceWithWhatTheyHoldBeforeIt) {
  const std::string text = "Leaves fall in autumn, and some in June.";
  PerplexityOptions options{.window = 12, .stride = 5};
  PerplexityProgress last;
  options.on_progress = [&](const PerplexityProgress& now) { last = now; };
  const auto found = perplexity(*open_tiny(), text, options);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(last.share_done, 1);
  EXPECT_EQ(last.so_far.log_likelihood, found->log_likelihood);
  EXPECT_FALSE(found->stopped);
  EXPECT_EQ(found->n_tokens, text.size() - 1);
  double sum = 0;
  size_t n_windows = 0;
  for (size_t next = 1; next < text.size(); ++n_windows) {
    const size_t end = std::min(text.size(), next == 1 ? 12 : next + 5);
    const size_t begin = end < 12 ? 0 : end - 12;
    for (const float logprob : logprobs_one_by_one(text.substr(begin, end - begin), next - begin))
      sum += logprob;
    next = end;
  }
  EXPECT_DOUBLE_EQ(found->log_likelihood, sum);
  EXPECT_EQ(found->n_windows, n_windows);
}

// Stops once the engine has computed `n_rows` rows, as progress tells.
Result<Perplexity> stopped_perplexity(Engine& engine, const std::string& text,
                                      PerplexityOptions options, uint64_t n_rows) {
  std::atomic<bool> stop = false;
  options.stop = &stop;
  options.on_progress = [&](const PerplexityProgress& now) {
    stop = now.stats.prefill_rows >= n_rows;
  };
  return perplexity(engine, text, options);
}

std::string squares() {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("{} ", i * i);
  return text;
}

// A window takes many times as long as a stop takes to be seen, so it is under way when it is
// dropped.
TEST(Perplexity, AStopDropsWhatIsUnderWay) {
  constexpr int kWindow = 32'768;
  const TemporaryFolder folder;
  EngineOptions one = tiny_options();
  one.max_running = 1;
  one.step_rows = 1;
  const std::unique_ptr<Engine> engine = open_tiny(one, make_tiny_model(folder.path(), kWindow));
  const auto found =
      stopped_perplexity(*engine, squares(), {.window = kWindow, .stride = kWindow / 2}, 1);
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_TRUE(found->stopped);
  EXPECT_EQ(found->n_dropped, 1u) << "what waits is not under way";
  EXPECT_EQ(found->n_windows + found->n_tokens, 0u);
}

// One window runs at a time. The result equals that of a text of the complete windows alone. The
// next window may have begun or not when the stop is seen.
TEST(Perplexity, AStopKeepsWhatIsComplete) {
  EngineOptions one = tiny_options();
  one.max_running = 1;
  one.step_rows = 1;
  const PerplexityOptions windows{.window = 640, .stride = 320};
  const std::string text = squares();
  const auto found = stopped_perplexity(*open_tiny(one), text, windows, 2000);
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_TRUE(found->stopped);
  EXPECT_LT(found->n_dropped, 32u) << "what waits is not under way";
  ASSERT_GT(found->n_windows, 0u);
  const size_t n_scored = 639 + 320 * (found->n_windows - 1);
  EXPECT_EQ(found->n_tokens, n_scored);
  const auto whole = perplexity(*open_tiny(), text.substr(0, 1 + n_scored), windows);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(found->log_likelihood, whole->log_likelihood);
}

TEST(Perplexity, AStopBeforeItBeginsComputesNothing) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const std::atomic<bool> stop = true;
  const auto found =
      perplexity(*engine, "A text of some words.", {.window = 12, .stride = 5, .stop = &stop});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->stopped);
  EXPECT_EQ(found->n_windows + found->n_dropped + found->n_tokens, 0u);
  EXPECT_EQ(engine->stats().prefill_rows, 0u);
}

TEST(Perplexity, WindowsThatDoNotFitAreRefused) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const auto message = [&](const std::string& text, PerplexityOptions options) {
    const auto result = perplexity(*engine, text, options);
    return result.ok() ? std::string("fine") : result.error().message();
  };
  EXPECT_EQ(message("abc", {.window = 1000}),
            "window is 1000 tokens, expected at least 2 tokens and at most the context of 640");
  EXPECT_EQ(message("abc", {.window = 1}),
            "window is 1 token, expected at least 2 tokens and at most the context of 640");
  EXPECT_EQ(message("abc", {.window = 8, .stride = 8}), "stride is 8 tokens, expected 1 to 7");
  EXPECT_EQ(message("a", {}), "the text has 1 token, expected at least 2");
  EXPECT_EQ(message("abc", {.window = 8, .stride = 7}), "fine");
}

// A tokenizer that puts its end-of-sequence token (256) behind every text.
std::shared_ptr<const Model> model_that_ends_texts() {
  static const TemporaryFolder folder;
  RandomModelOptions options;
  options.out = folder.path() / "model";
  options.seed = 3;
  options.max_positions = kTinyContext;
  if (Status status = make_random_model(options); !status)
    throw std::runtime_error(status.error().message());
  const std::filesystem::path path = options.out / "tokenizer.json";
  nlohmann::json tokenizer = nlohmann::json::parse(std::ifstream(path));
  const nlohmann::json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
                       second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}},
                       end = {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}};
  tokenizer["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {text, end}},
      {"pair", {text, second}},
      {"special_tokens",
       {{"<|endoftext|>",
         {{"id", "<|endoftext|>"}, {"ids", {256}}, {"tokens", {"<|endoftext|>"}}}}}}};
  std::ofstream(path) << tokenizer.dump();
  Result<std::shared_ptr<const Model>> loaded = Model::load(options.out);
  if (!loaded) throw std::runtime_error(loaded.error().message());
  return std::move(*loaded);
}

TEST(Score, WhatATokenizerPutsBehindEveryTextIsNoPartOfIt) {
  const std::shared_ptr<const Model> ends = model_that_ends_texts();
  ASSERT_EQ(ends->encode("ab").value(), (std::vector<Token>{'a', 'b', 256}));
  const auto engine = Engine::open(ends, tiny_options());
  ASSERT_TRUE(engine.ok());
  const std::unique_ptr<Engine> plain = open_tiny();
  const std::vector<std::string> continuations = {" gold", " red"};
  const auto scores = score(**engine, kPrefix, continuations),
             expected = score(*plain, kPrefix, continuations);
  ASSERT_TRUE(scores.ok() && expected.ok());
  for (size_t i = 0; i < continuations.size(); ++i) {
    EXPECT_EQ((*scores)[i].n_tokens, static_cast<int>(continuations[i].size()));
    EXPECT_EQ((*scores)[i].logprob, (*expected)[i].logprob);
  }
  const PerplexityOptions windows{.window = 12, .stride = 5};
  const auto found = perplexity(**engine, kPrefix, windows),
             of_text = perplexity(*plain, kPrefix, windows);
  ASSERT_TRUE(found.ok() && of_text.ok());
  EXPECT_EQ(found->n_tokens, of_text->n_tokens);
  EXPECT_EQ(found->log_likelihood, of_text->log_likelihood);
}

}  // namespace
}  // namespace pando::testing
