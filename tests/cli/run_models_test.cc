// Models and conversations of `pando run`, and what a process has for them.
#include <nlohmann/json.hpp>

#include "base/gguf_writer.h"
#include "cli/run_process.h"
#include "text/byte_level.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;
using RunModels = RunProcess;

TEST_F(RunModels, Chat) {
  folder().write("chat.jsonl",
                 "{\"context\": \"C\", \"questions\": [\"Q\"]}\n"
                 "{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}]}\n");
  const Finished plain = run("--input chat.jsonl --logits-hash");
  const Finished chat = run("--input chat.jsonl --logits-hash --chat");
  const Finished thinking = run("--input chat.jsonl --logits-hash --chat --thinking");
  for (const Finished* finished : {&plain, &chat, &thinking}) {
    EXPECT_EQ(finished->code, kOk) << *finished;
    EXPECT_EQ(n_lines(finished->out), 2) << *finished;
  }
  EXPECT_NE(plain.out, chat.out);
  EXPECT_NE(thinking.out, chat.out);

  std::filesystem::copy(at("m"), at("unknown"));
  folder().write("unknown/chat_template.jinja", "\n{{ messages|nope }}");
  const std::string unknown = "run --model unknown --threads 1 --kv-memory 64MiB --max-tokens 2 ";
  const Finished refused = pando(unknown + "--input chat.jsonl --chat");
  EXPECT_EQ(refused.code, kFailed) << refused;
  EXPECT_TRUE(
      refused.says("chat_template.jinja': chat template, line 2: no filter named 'nope' (known: "))
      << refused;
  EXPECT_EQ(pando(unknown + "--input good.jsonl").code, kOk);

  folder().write("mine.jinja", "{{ messages[0].content }}{{ strftime_now('%Y') }}");
  const std::string forced = unknown + "--input chat.jsonl --chat --chat-template ";
  EXPECT_EQ(pando(forced + "mine.jinja").code, kOk);
  EXPECT_EQ(pando(forced + "mine.jinja --date 2026-11-25").code, kOk);
  EXPECT_TRUE(pando(forced + "mine.jinja --date today").says("expected a date such as 2026-11-25"));
  const Finished other = pando(forced + "other");
  EXPECT_EQ(other.code, kUsage) << other;
  EXPECT_TRUE(other.says("'other' is neither a file nor a chat template of the model")) << other;
}

// It is said before the first line is read.
TEST_F(RunModels, AModelWhoseTokensSeeBothWaysWritesNoText) {
  EXPECT_EQ(pando("make-model --shape tiny-bert --dtype f32 --out bert").code, kOk);
  for (const char* command : {"run", "score", "rerank"}) {
    const Finished refused =
        pando(std::string(command) + " --model bert --kv-memory 16MiB --input good.jsonl");
    EXPECT_EQ(refused.code, kUsage) << refused;
    EXPECT_TRUE(refused.says("the model's tokens see both ways, expected a model that writes text"))
        << refused;
  }
}

TEST_F(RunModels, MakeModelThenRun) {
  EXPECT_EQ(
      pando("make-model --shape tiny-llama --dtype f32 --layers 1 --context 100 --out made").code,
      kOk);
  const Finished finished =
      pando("run --model made --input good.jsonl --threads 1 --kv-memory 16MiB --max-tokens 2");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_EQ(n_lines(finished.out), 3);
  const std::pair<const char*, int> wrong[] = {{"--shape no-such-shape --out x", kUsage},
                                               {"--dtype f8 --out x", kUsage},
                                               {"--layers 0 --out x", kUsage},
                                               {"--tokenizer nowhere --out x", kFailed},
                                               {"--tokenizer good.jsonl --out x", kUsage},
                                               {"--out good.jsonl", kFailed}};
  for (const auto& [arguments, code] : wrong) {
    const Finished failed = pando(std::string("make-model ") + arguments);
    EXPECT_EQ(failed.code, code) << arguments << ": " << failed;
    EXPECT_TRUE(failed.err.starts_with("pando: ")) << arguments << ": " << failed;
    EXPECT_FALSE(std::filesystem::exists(at("x"))) << arguments;
  }
}

// This GGUF file does not say how its words are cut.
TEST_F(RunModels, WarningsAboutAModelAreSaid) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(byte_level_character(static_cast<unsigned char>(byte)));
  }
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "gpt2")
      .strings("tokenizer.ggml.tokens", tokens)
      .strings("tokenizer.ggml.merges", {})
      .uint32("tokenizer.ggml.eos_token_id", 0);
  folder().write("words.gguf", writer.bytes());
  const Finished finished = pando("tokenize --model m --tokenizer words.gguf ab");
  EXPECT_EQ(finished.out, "97 98\n") << finished;
  EXPECT_TRUE(finished.says("pando: 'words.gguf': 'tokenizer.ggml.pre' is missing")) << finished;
  EXPECT_EQ(pando("tokenize --model m ab").err, "");
}

TEST_F(RunModels, MemoryForNothing) {
  const Finished finished = pando("run --model m --input good.jsonl --kv-memory 10");
  EXPECT_EQ(finished.code, kUsage) << finished;
  EXPECT_TRUE(finished.says("--kv-memory is 10 bytes, expected at least one page of ")) << finished;
}

// Limits of the process count for the default of --kv-memory, and for what is said of memory.
TEST_F(RunModels, MemoryAndThreadsOfAProcess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take terabytes of addresses";
#endif
  const std::string some = "ulimit -v 2000000; ";
  const Finished fits = pando(
      "run --model m --threads 1 --max-tokens 4 --input good.jsonl "
      "--report limited.json",
      some);
  EXPECT_EQ(fits.code, kOk) << fits;
  const Json report = Json::parse(contents(at("limited.json")));
  EXPECT_LT(report["options"]["kv_memory"], 1000000 * 1024);
  const Finished memory =
      pando("run --model m --threads 1 --input good.jsonl --kv-memory 3GB", some);
  EXPECT_EQ(memory.code, kUsage) << memory;
  EXPECT_TRUE(
      memory.says("--kv-memory is 3221225472 bytes (3.0 GiB), expected at most the 2048000000 "
                  "bytes (1.9 GiB)"))
      << memory;
  const Finished left =
      pando("run --model m --threads 1 --input good.jsonl --kv-memory 2000000000", some);
  EXPECT_EQ(left.code, kFailed) << left;
  EXPECT_TRUE(left.says("not enough memory for 2000000000 bytes of keys and values")) << left;
  EXPECT_TRUE(left.says(" bytes (1.9 GiB) are needed, and ") && left.says(" are available"))
      << left;
  const Finished threads = pando("run --model m --threads 64 --kv-memory 64MiB --input good.jsonl",
                                 some + "ulimit -s 131072; ");
  EXPECT_EQ(threads.code, kFailed) << threads;
  EXPECT_TRUE(threads.says("cannot start 64 threads: ")) << threads;
}

TEST_F(RunModels, PerplexityOfAText) {
  folder().write("text.txt", "A text of some bytes, which are its tokens.");
  const Finished finished = pando("score --model m --perplexity text.txt --window 20");
  EXPECT_EQ(finished.code, kOk) << finished;
  const Json line = Json::parse(finished.out);
  EXPECT_EQ(line["tokens"], 42);
  EXPECT_EQ(line["bytes"], 43);
  EXPECT_GT(line["perplexity"], 1);
  for (const auto& [bytes, message] : std::initializer_list<std::pair<std::string, const char*>>{
           {std::string("Text\0.", 6), "'binary' is binary data, not text: byte 4 is 0, expected "},
           {"na\xefve text", "'binary' is not UTF-8 at byte 2, expected text in UTF-8"},
           {"\x89PNG\r\n", "'binary' is a PNG image, not text, expected text in UTF-8"}}) {
    folder().write("binary", bytes);
    const Finished refused = pando("score --model m --perplexity binary");
    EXPECT_EQ(refused.code, kFailed) << refused;
    EXPECT_TRUE(refused.says(message)) << refused;
  }
  EXPECT_EQ(pando("score --model m --perplexity nowhere.txt").code, kFailed);
  EXPECT_EQ(pando("score --model m --perplexity empty.jsonl").code, kFailed);
  EXPECT_EQ(pando("score --model m --perplexity text.txt --window 0").code, kUsage);
  EXPECT_EQ(pando("score --model m").code, kUsage);
}
}  // namespace
}  // namespace pando::testing
