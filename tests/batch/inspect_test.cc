// Inspection tells what a batch will cost: counted as the engine computes it.
#include "pando/inspect.h"

#include <gtest/gtest.h>

#include <sstream>

#include "api/model_access.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

Inspection inspected(const std::string& input, BatchOptions options = {},
                     KvType kv_type = KvType::kF16) {
  std::istringstream in(input);
  options.defaults.prompt_template = "{context}|{question}";
  auto inspection =
      inspect_batch(*tiny_model(), {.kv_type = kv_type, .context = kTinyContext}, in, options);
  EXPECT_TRUE(inspection.ok());
  return inspection ? std::move(*inspection) : Inspection{};
}

TEST(Inspect, CountsWhatTheEngineComputes) {
  const std::string input =
      R"({"context": "A context.", "questions": ["One?", "Other?", "Two?"], "max_tokens": 5}
{"prompt": "A contract", "max_tokens": 5, "n": 2}
{"prompt": "Else", "max_tokens": 5}
not json
{"prompt": ")" +
      std::string(700, 'x') + "\"}\n";
  const Inspection found = inspected(input);
  EXPECT_EQ(found.lines, 5u);
  EXPECT_EQ(found.bad_lines, 1u);
  EXPECT_EQ(found.prompts, 5u);
  EXPECT_EQ(found.too_long, 1u);
  EXPECT_EQ(found.prompt_tokens, 15u + 17 + 15 + 10 + 4);
  EXPECT_EQ(found.longest_prompt, 17u);
  EXPECT_EQ(found.answer_tokens, 30u);

  std::istringstream in(input);
  std::ostringstream out;
  BatchOptions options;
  options.defaults.prompt_template = "{context}|{question}";
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  EXPECT_EQ(summary->stats.prefill_rows, found.distinct_tokens);
}

// A prompt that has no room in memory is too long for a run too.
TEST(Inspect, CountsWhatHasNoRoom) {
  const std::string input = "{\"prompt\": \"short\", \"max_tokens\": 5}\n{\"prompt\": \"" +
                            std::string(100, 'x') + "\", \"max_tokens\": 5}\n{\"prompt\": \"" +
                            std::string(700, 'x') + "\"}\n";
  EngineOptions engine = tiny_options();
  engine.context = kTinyContext;
  engine.kv_memory = 3 * 32 * kv_bytes_per_token(*tiny_model(), engine.kv_type);
  EXPECT_EQ(longest_sequence(*tiny_model(), engine).value(), 96u);
  std::istringstream in(input);
  const auto found = inspect_batch(*tiny_model(), engine, in, {});
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(found->prompts, 2u) << "with more memory";
  EXPECT_EQ(found->prompt_tokens, 105u);
  EXPECT_EQ(found->longest_prompt, 100u);
  EXPECT_EQ(found->answer_tokens, 10u);
  EXPECT_EQ(found->too_long, 2u);
  EXPECT_EQ(found->no_room, 1u);
  EXPECT_EQ(found->room, 96u);
  EXPECT_EQ(found->longest_path, 105u);
  const size_t page = engine.kv_memory / 3;
  EXPECT_EQ(found->kv_memory_needed, 4 * page) << "128 positions";
  for (const auto& [n_tokens, n_pages] : {std::pair{1, 1}, {32, 1}, {33, 2}, {512, 16}})
    EXPECT_EQ(kv_memory_for(*tiny_model(), engine, n_tokens).value(), n_pages * page) << n_tokens;
  EXPECT_EQ(kv_memory_for(*tiny_model(), engine, size_t{1} << 50).value(), 0u) << "none is enough";
  std::istringstream again(input);
  std::ostringstream out;
  const auto ran = run_batch(*open_tiny(engine), again, 0, out, BatchOptions{});
  ASSERT_TRUE(ran.ok()) << ran.error().message();
  EXPECT_EQ(ran->too_long, 2u);
  engine.kv_memory = 100;
  std::istringstream none(input);
  const auto refused = inspect_batch(*tiny_model(), engine, none, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().message().starts_with("kv_memory is 100 bytes, expected at least"))
      << refused.error().message();
}

// Token p of a prompt sees p + 1 positions, a shared one once.
TEST(Inspect, CountsAttention) {
  const Inspection found =
      inspected(R"({"context": "A context.", "questions": ["One?", "Two?"], "max_tokens": 5})");
  const double n = 15, n_shared = 11;  // "A context.|"
  EXPECT_EQ(found.prompt_keys, 2 * n * (n + 1) / 2);
  EXPECT_EQ(found.distinct_keys, 2 * n * (n + 1) / 2 - n_shared * (n_shared + 1) / 2);
  EXPECT_EQ(found.answer_keys, 2 * (16 + 17 + 18 + 19 + 20));
  EXPECT_EQ(found.answers, 2u);
  const model::ModelSpec& config = spec_of(*tiny_model());
  EXPECT_EQ(found.flops_per_key, 4.0 * config.n_layers() * config.n_heads * config.head_dim);
}

// As the engine's pages: 16 or 32 bits a channel, or 8 and 32 for each head.
TEST(Inspect, BytesOfKeysAndValues) {
  const model::ModelSpec& config = spec_of(*tiny_model());
  const auto n_heads = static_cast<uint64_t>(2 * config.n_layers() * config.n_kv_heads);
  const auto n_channels = static_cast<uint64_t>(config.head_dim);
  const std::string input = R"({"prompt": "P"})";
  EXPECT_EQ(inspected(input).kv_bytes, n_heads * n_channels * 2);
  EXPECT_EQ(inspected(input, {}, KvType::kF32).kv_bytes, n_heads * n_channels * 4);
  EXPECT_EQ(inspected(input, {}, KvType::kInt8).kv_bytes, n_heads * (n_channels + 4));
}

TEST(Inspect, WhereSharingStops) {
  const Inspection found =
      inspected(R"({"context": "Shared by all of it", "questions": ["abc", "xyz", "xy!"]})"
                "\n"
                R"({"context": "Shared by all of it too", "questions": ["a"]})"
                "\n{\"prompt\": \"Share!\"}\n");
  ASSERT_EQ(found.stops.size(), 3u);
  EXPECT_EQ(found.stops[0].before, "by all of it") << "not of 'Share', which is too short";
  EXPECT_EQ(found.stops[0].prompts, 4u);
  EXPECT_EQ(found.stops[0].shared_tokens, 19u);
  EXPECT_EQ(found.stops[0].after, (std::vector<std::string>{"|", " too|a"}));
  EXPECT_EQ(found.stops[1].before, "|");
  EXPECT_EQ(found.stops[1].ways, 2u);
  EXPECT_EQ(found.stops[1].tokens_behind, 3u + 4);
  EXPECT_EQ(found.stops[1].after, (std::vector<std::string>{"xy", "abc"}));
}

TEST(Inspect, WhatTheEngineRefusesIsNamed) {
  std::vector<std::string> problems;
  BatchOptions options;
  options.on_problem = [&](const std::string& message) { problems.push_back(message); };
  const std::string id = "{\"custom_id\": \"b\", \"url\": \"/v1/completions\", \"body\": ";
  const Inspection found =
      inspected(R"({"tokens": [5, 300]})"
                "\n"
                R"({"context": "C", "question": "Q", "temperature": -1})"
                "\n"
                R"({"context": "C", "questions": [)"
                R"({"text": "Q", "choices": ["a", ")" +
                    std::string(700, 'x') + "\"]}, \"R\"]}\n" + id + "{\"prompt\": \"P\"}}\n" + id +
                    "{\"prompt\": \"R\"}}\n" + "{\"tokens\": [5, 256, 7]}\n" +
                    R"({"prompt": "P", "schema": {"enum": [1], "minimum": 2}})",
                options);
  EXPECT_EQ(found.refused, 3u);
  EXPECT_EQ(found.too_long, 1u);
  EXPECT_EQ(found.repeated_ids, 1u);
  EXPECT_EQ(found.prompts, 4u);
  EXPECT_EQ(problems,
            (std::vector<std::string>{"line 1: token 300 is outside the model's vocabulary of 257",
                                      "line 2: temperature is -1, expected 0 or more",
                                      "line 5: custom_id 'b' also appears in line 4",
                                      "line 7: no text fits the schema: '#/enum' is [1], but "
                                      "'#/minimum' is 2"}));
}

TEST(Inspect, EqualIdsOfLinesAreCounted) {
  std::vector<std::string> problems;
  BatchOptions options;
  options.on_problem = [&](const std::string& message) { problems.push_back(message); };
  const Inspection lines =
      inspected(R"({"id": "a", "context": "C", "questions": [{"id": "x", "text": "Q"}, "R"]})"
                "\n"
                R"({"id": "a", "context": "C", "questions": [{"id": "y", "text": "S"}]})"
                "\n"
                R"({"id": "a", "context": "C", "questions": ["T", {"id": "y", "text": "U"}]})"
                "\n"
                R"({"id": "b", "prompt": "P"})"
                "\n"
                R"({"prompt": "P"})"
                "\n"
                R"({"id": "5", "prompt": "P"})"
                "\n",
                options);
  // Line 3 has the ids 'a/y' of line 2. Line 6 has the id 5, which is the number of line 5.
  EXPECT_EQ(lines.equal_ids, 2u);
  EXPECT_EQ(lines.equal_id, "a/y");
  EXPECT_EQ(lines.repeated_ids, 0u);
  options.format = InputFormat::kCsv;
  const Inspection rows =
      inspected("id,context,question\nd1,C,Q\nd2,C,Q\nd1,C,R\nd1,C,S\n,C,T\n", options);
  EXPECT_EQ(rows.equal_ids, 2u);
  EXPECT_EQ(rows.equal_id, "d1");
  EXPECT_TRUE(problems.empty()) << problems[0];
}

TEST(Inspect, SpecialTokensHaveTheirNames) {
  const std::string shared =
      "{\"tokens\": [65, 65, 65, 65, 65, 65, 65, 65, 65, 65, 65, 65, 65, 65, "
      "65, 65, 256, ";
  const Inspection found = inspected(shared + "66]}\n" + shared + "67]}\n");
  ASSERT_EQ(found.stops.size(), 1u);
  EXPECT_GT(found.stops[0].before.size(), 12u) << found.stops[0].before;
}

TEST(Inspect, PassagesInChangingOrderShareNothing) {
  const std::string a(50, 'a'), b(50, 'b'), c(50, 'c');
  const auto line = [](const std::string& x, const std::string& y, const std::string& z) {
    return "{\"context\": \"" + x + "\\n\\n" + y + "\\n\\n" + z + "\", \"question\": \"Q\"}\n";
  };
  const Inspection mixed = inspected(line(a, b, c) + line(b, c, a) + line(c, a, b));
  EXPECT_EQ(mixed.repeated_passages, 3u);
  EXPECT_EQ(mixed.distinct_tokens - mixed.reordered_tokens, 300u);
  const Inspection sorted = inspected(line(a, b, c) + line(a, b, c) + line(a, b, "d"));
  EXPECT_EQ(sorted.repeated_passages, 3u);
  EXPECT_EQ(sorted.reordered_tokens, sorted.distinct_tokens);
}

}  // namespace
}  // namespace pando::testing
