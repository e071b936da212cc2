// The published techniques in the engine: what they are refused, what they keep, what they count.
#include <gtest/gtest.h>

#include <random>

#include "engine/test_loop.h"
#include "lab/tests/technique_testing.h"
#include "pando/inspect.h"
#include "pando/values/sharing.h"

namespace pando::testing {
namespace {

LoopOptions options_for(const std::string& sharing) {
  lab::open_techniques();
  LoopOptions options = tiny_loop_options();
  options.engine.sharing = sharing;
  return options;
}

Request embedding_request(const std::string& prompt) {
  Request request;
  request.prompt = prompt;
  request.pooling = Pooling::kLast;
  return request;
}

const char* const kPrompts[] = {"the same beginning, then this", "the same beginning, then that",
                                "something else", "the same"};

// Bytes of keys and values at most, and the embeddings of kPrompts.
std::pair<uint64_t, std::vector<std::vector<float>>> embed(const std::string& sharing) {
  TestLoop loop(options_for(sharing));
  for (RequestId id = 1; id <= std::size(kPrompts); ++id)
    EXPECT_TRUE(loop.submit(id, embedding_request(kPrompts[id - 1])));
  loop.run();
  std::vector<std::vector<float>> embeddings;
  for (const auto& [id, heard] : loop.heard)
    embeddings.push_back(heard.completions.at(0).embedding);
  return {loop.stats().kv_bytes_peak, embeddings};
}

TEST(Radix, StatelessKeepsKeysAndValuesOfOneLayer) {
  const auto [kept, expected] = embed("radix");
  const auto [stateless, found] = embed("radix:stateless");
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found, embed("tree").second);
  const auto n_layers = static_cast<uint64_t>(tiny_model()->info().n_layers);
  EXPECT_GT(n_layers, 1u);
  EXPECT_EQ(stateless * n_layers, kept);
}

TEST(Radix, StatelessNeedsMemoryForOneLayer) {
  const auto needed = [](const char* sharing) {
    return kv_memory_for(*tiny_model(), options_for(sharing).engine, 64).value();
  };
  EXPECT_EQ(needed("radix:stateless") * tiny_model()->info().n_layers, needed("radix"));
}

TEST(Radix, StatelessAnswersInOnePassOnly) {
  TestLoop loop(options_for("radix:stateless"));
  const Status status = loop.submit(1, tiny_request("abc", 2));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(status.error().message().find("max_tokens is 2, expected 0 or 1"), std::string::npos);
  loop.heard.clear();
  ASSERT_TRUE(loop.submit(2, tiny_request("abc", 1)));
  loop.run();
  EXPECT_EQ(loop.answers(2), answers_alone(tiny_request("abc", 1)));
}

TEST(Radix, CountsRowsThatItComputes) {
  TestLoop loop(options_for("radix"));
  for (RequestId id = 1; id <= 4; ++id)
    ASSERT_TRUE(loop.submit(id, tiny_request("twelve bytes", 1)));
  loop.run();
  EXPECT_EQ(loop.stats().prefill_rows, 12u);
  EXPECT_EQ(loop.stats().steps, 1u);
}

// --- those that are right to rounding ------------------------------------------------------------

using Logprobs = std::map<std::pair<RequestId, int>, float>;  // by request and position

// Two documents behind an instruction, with questions, one-token prompts, and equal ones; what they
// are asked is scored, so that no rounding decides what comes next.
std::vector<Request> scored_requests() {
  const std::string instruction = "Answer from the text. ";
  const std::string documents[] = {
      "The mill by the river was built of red brick in 1842, and more. ",
      "Snow fell on the pass for nine days; nobody came over it. "};
  std::vector<Request> requests;
  for (const std::string& document : documents)
    for (const char* question : {"When? In 1842.", "Who?", "What fell, and where did it fall?"}) {
      Request request = tiny_request(instruction + document + question, 0);
      request.prompt_logprobs_from = static_cast<int>(instruction.size() + document.size()) + 1;
      requests.push_back(request);
    }
  requests.push_back(requests[2]);
  requests[6].prompt_logprobs_from = 1;
  return requests;
}

Logprobs score(const std::string& sharing, KvType kv_type = KvType::kF32) {
  LoopOptions options = options_for(sharing);
  options.engine.kv_type = kv_type;
  TestLoop loop(options);
  const std::vector<Request> requests = scored_requests();
  for (RequestId id = 1; id <= requests.size(); ++id)
    EXPECT_TRUE(loop.submit(id, requests[id - 1]));
  loop.run();
  Logprobs logprobs;
  for (const auto& [id, heard] : loop.heard) {
    EXPECT_FALSE(heard.error) << sharing << ": " << heard.error->message();
    int position = *heard.request.prompt_logprobs_from;
    for (const auto& [choice, completion] : heard.completions)
      for (const TokenLogprob& token : completion.prompt_logprobs)
        logprobs[{id, position++}] = token.logprob;
  }
  return logprobs;
}

const char* const kToRounding[] = {"padded",
                                   "padded:batch=2",
                                   "length_ordered:batch=3",
                                   "prepacked:dense",
                                   "prepacked:dense,batch=4",
                                   "prepacked:dataset,dense,batch=1",
                                   "hydragen",
                                   "hydragen:levels=22",
                                   "hydragen:levels=5+22+60",
                                   "stacked",
                                   "stacked:contexts=1,batch=1",
                                   "stacked:contexts=2,batch=1",
                                   "stacked:contexts=1,batch=2"};

TEST(ToRounding, ScoresAreThoseOfTheTree) {
  const Logprobs expected = score("tree");
  EXPECT_GT(expected.size(), 60u);
  for (const char* sharing : kToRounding) {
    const Logprobs found = score(sharing);
    ASSERT_EQ(found.size(), expected.size()) << sharing;
    for (const auto& [key, logprob] : expected)
      ASSERT_NEAR(found.at(key), logprob, 1e-4)
          << sharing << " request " << key.first << " position " << key.second;
  }
}

TEST(ToRounding, KeysInInt8) {
  const Logprobs expected = score("tree", KvType::kInt8);
  for (const char* sharing : {"padded", "prepacked:dense", "hydragen"})
    for (const auto& [key, logprob] : score(sharing, KvType::kInt8))
      ASSERT_NEAR(expected.at(key), logprob, 0.1) << sharing;
  LoopOptions options = options_for("stacked");
  options.engine.kv_type = KvType::kInt8;
  EXPECT_FALSE(open_loop(tiny_model()->parts(), options));
}

// Answers of different lengths, with one-token prompts among them; the first tokens come from the
// prefill.
TEST(ToRounding, AnswersEnd) {
  for (const char* sharing : kToRounding) {
    TestLoop loop(options_for(sharing));
    RequestId id = 0;
    for (const char* prompt : {"a", "a longer one", "b", "a longer two", "a longer one"}) {
      Request request = tiny_request(prompt, 1 + static_cast<int>(id) % 4);
      if (id == 1) request.sampling.n = 2;
      ASSERT_TRUE(loop.submit(++id, request));
    }
    loop.step();
    ASSERT_TRUE(loop.submit(++id, tiny_request("later", 3)));
    ASSERT_TRUE(loop.submit(++id, tiny_request("cancelled", 30)));
    loop.step();
    loop.cancel(id);
    loop.run();
    for (RequestId i = 1; i < id; ++i)
      for (const auto& [tokens, hash] : loop.answers(i))
        EXPECT_EQ(tokens.size(), static_cast<size_t>(loop.heard[i].request.sampling.max_tokens))
            << sharing;
    EXPECT_EQ(loop.answers(1)[0].first, answers_alone(tiny_request("a", 1))[0].first) << sharing;
  }
}

TEST(ToRounding, LittleMemory) {
  for (const char* sharing : kToRounding) {
    LoopOptions options = options_for(sharing);
    options.engine.kv_memory = memory_for(24);
    TestLoop loop(options);
    const std::vector<Request> requests = scored_requests();
    for (RequestId id = 1; id <= 3; ++id) {
      Request request = tiny_request(requests[id].prompt.substr(0, 60) + std::string(id, 'x'), 4);
      ASSERT_TRUE(loop.submit(id, request)) << sharing;
    }
    loop.run();
    for (RequestId id = 1; id <= 3; ++id) {
      EXPECT_FALSE(loop.heard[id].error) << sharing;
      EXPECT_EQ(loop.answers(id).size(), 1u) << sharing;
    }
  }
}

// As many pages as the memory holds: a page for each byte has no room in any address space.
TEST(Stacked, TakesTheMemoryThatItIsGiven) {
  LoopOptions options = options_for("stacked");
  options.page_len = 32;
  options.tile_len = 64;
  options.engine.kv_memory = size_t{16} << 30;
  const auto loop = open_loop(tiny_model()->parts(), options);
  EXPECT_TRUE(loop.ok()) << loop.error().message();
}

// Whoever fits alone is answered, whatever comes before and beside it.
TEST(Stacked, SomeMemoryIsEnoughForAll) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    LoopOptions options = options_for("stacked");
    options.engine.kv_memory = memory_for(17 + below(4));  // the longest take 17 pages of 4
    TestLoop loop(options);
    std::vector<std::string> prompts{"a"};
    for (RequestId id = 1; id <= 8; ++id) {
      std::string prompt = prompts[below(static_cast<uint32_t>(prompts.size()))];
      prompt.resize(below(static_cast<uint32_t>(prompt.size()) + 1));
      while (prompt.size() < 64 && below(20) > 0) prompt += static_cast<char>('a' + below(26));
      prompts.push_back(prompt + "?");
      ASSERT_TRUE(loop.submit(id, tiny_request(prompts.back(), 3)));
      if (below(3) == 0) loop.step();
    }
    loop.run();
    for (const auto& [id, heard] : loop.heard)
      EXPECT_FALSE(heard.error) << seed << ": " << heard.error->message();
  }
}

TEST(ToRounding, Counts) {
  const auto counts = [](const char* sharing, size_t i) {
    TestLoop loop(options_for(sharing));
    RequestId id = 0;
    for (const char* prompt : {"123456", "12", "abc", "b"})
      EXPECT_TRUE(loop.submit(++id, tiny_request(prompt, 1)));
    loop.run();
    return std::pair(loop.stats().pad_rows, loop.stats().figures.at(i));
  };
  EXPECT_EQ(counts("padded", 1).first, 12u);                        // 4 rows of 6
  EXPECT_EQ(counts("padded", 1).second.value, 24);                  // rows computed
  EXPECT_EQ(counts("padded:batch=2", 1).second.value, 18);          // 2 of 6 and 2 of 3
  EXPECT_EQ(counts("length_ordered:batch=2", 1).second.value, 16);  // 2 of 2, 2 of 6
  EXPECT_EQ(counts("prepacked:dense", 2).second.value, 2);          // bins of 6
  EXPECT_EQ(counts("prepacked:dense", 1).first, 0u);                // they fill it
  EXPECT_EQ(counts("prepacked", 3).second.value, 0.5);              // r/k
  EXPECT_EQ(counts("prepacked", 4).second.value, 3);                // m - L/k
  EXPECT_EQ(counts("prepacked", 7).second.value, 2);                // 24 over 12
}

// One bin holds all of the short ones.
TEST(Prepacked, BinsOfADataSetAreNoMoreThanMayRun) {
  LoopOptions options = options_for("prepacked:dataset,batch=2");
  options.engine.max_running = 3;
  TestLoop loop(options);
  RequestId id = 0;
  for (const char* prompt : {"0123456789", "ab", "cd", "ef", "gh", "ij"})
    ASSERT_TRUE(loop.submit(++id, tiny_request(prompt, 4)));
  size_t most = 0;
  while (loop.step()) most = std::max<size_t>(most, loop.stats().running_answers);
  EXPECT_EQ(most, 3u);
  for (RequestId i = 1; i <= id; ++i) EXPECT_EQ(loop.answers(i).size(), 1u);
}

TEST(Techniques, BatchesOfTheirOwnDoNotGoByTime) {
  LoopOptions options = options_for("prepacked");
  options.engine.policy = "lars";
  options.engine.step_budget = 0.1;
  options.engine.step_costs =
      R"({"step_s":1e-3,"row_s":[1e-4,1e-4,1e-4,1e-4,1e-4],"head_s":0,"output_s":0,"key_s":0,"read_s":0})";
  EXPECT_EQ(open_loop(tiny_model()->parts(), options).error().message(),
            "sharing 'prepacked' forms its own batches of whole prompts, expected policy fcfs and "
            "no step_budget");
}

TEST(NoAttention, AnswersOtherwiseAndHasAWarning) {
  TestLoop wrong(options_for("no_attention")), right(options_for("tree"));
  for (TestLoop* loop : {&wrong, &right}) {
    ASSERT_TRUE(loop->submit(1, tiny_request("some text that goes on", 6)));
    loop->run();
  }
  EXPECT_EQ(sharing_info("no_attention").value().warning, "computed without attention");
  EXPECT_EQ(sharing_info("tree").value().warning, "");
  EXPECT_NE(wrong.answers(1), right.answers(1));
  EXPECT_EQ(wrong.stats().prefill_rows, right.stats().prefill_rows);
}

}  // namespace
}  // namespace pando::testing
