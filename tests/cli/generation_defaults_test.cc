// Sampling defaults in a model's files and of --generation-config.
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/run_process.h"
#include "cli/serve_process.h"
#include "model/gguf_files.h"

namespace pando::testing {
namespace {

using Json = nlohmann::json;

constexpr const char* kSamples = R"({"do_sample": true, "temperature": 0.8, "top_k": 3})";

class GenerationDefaults : public ServeTest {
 protected:
  static void SetUpTestSuite() {
    ServeTest::SetUpTestSuite();
    std::filesystem::copy(at("m"), at("n"));
    folder().write(
        "in.jsonl",
        "{\"id\": \"a\", \"prompt\": \"A prompt.\"}\n{\"id\": \"b\", \"tokens\": [65, 66]}\n"
        "{\"id\": \"c\", \"messages\": [{\"role\": \"user\", \"content\": \"Q\"}]}\n"
        "{\"custom_id\": \"d\", \"method\": \"POST\", \"url\": \"/v1/completions\", \"body\": "
        "{\"prompt\": \"P\"}}\n");
    folder().write("own.json", R"({"temperature": 0.3, "top_p": 0.5, "stop_strings": ["zz"]})");
  }
  // Gives model n this file.
  static void bring(const std::string& text) { folder().write("n/generation_config.json", text); }
  Finished run_n(const std::string& arguments = "") {
    Finished ran = pando(
        "run --model n --threads 1 --kv-memory 64MiB --ordered --max-tokens 8 --ignore-eos "
        "--input in.jsonl " +
        arguments);
    ran.out = std::regex_replace(ran.out, std::regex("\"created\":[0-9]+"), "");
    return ran;
  }
};

// The answers show that the defaults are taken: the same options on the command line give the same.
TEST_F(GenerationDefaults, TheModelsOwnHoldWhereNoOptionOrLineSetsThem) {
  bring(kSamples);
  const Finished own = run_n();
  EXPECT_EQ(own.code, kOk) << own;
  EXPECT_TRUE(own.err.starts_with(
      "pando: sampling defaults from generation_config.json: temperature 0.8, top_k 3\n"))
      << own;
  const std::string given = "--no-generation-config --temperature 0.8 --top-k 3";
  EXPECT_EQ(own.out, run_n(given).out);
  const std::string greedy = run_n("--no-generation-config").out;
  EXPECT_NE(own.out, greedy);
  EXPECT_EQ(run_n("--temperature 0").out, greedy);
  EXPECT_TRUE(run_n("--temperature 0").says("top_k 3; set by options: temperature 0.8\n"));
  EXPECT_EQ(run_n("--generation-config").out, own.out);
  EXPECT_EQ(run_n("--quiet").err, "");
  EXPECT_FALSE(run_n("--no-generation-config").says("sampling defaults"));
  // A line overrides them.
  folder().write("line.jsonl", "{\"id\": \"a\", \"prompt\": \"A prompt.\", \"temperature\": 0}\n");
  const Finished line = pando(
      "run --model n --threads 1 --kv-memory 64MiB --max-tokens 8 --ignore-eos --quiet --input "
      "line.jsonl");
  EXPECT_TRUE(greedy.starts_with(line.out)) << line;
}

TEST_F(GenerationDefaults, AFileReplacesTheModelsOwn) {
  bring(kSamples);
  const Finished other = run_n("--generation-config own.json");
  EXPECT_TRUE(
      other.says("sampling defaults from own.json: temperature 0.3, top_p 0.5, stop "
                 "[\"zz\"]\n"))
      << other;
  EXPECT_EQ(other.out, run_n("--no-generation-config --temperature 0.3 --top-p 0.5 --stop zz").out);
  EXPECT_TRUE(run_n("--generation-config own.json --stop y --top-p 1")
                  .says("temperature 0.3; set by options: top_p 0.5, stop [\"zz\"]\n"));
  folder().write("o.toml", "[run]\ngeneration-config = \"own.json\"\n");
  EXPECT_EQ(run_n("--config o.toml").out, other.out);
  folder().write("o.toml", "[run]\ngeneration-config = true\n");
  EXPECT_TRUE(run_n("--config o.toml").says("from generation_config.json: temperature 0.8"));
  for (const char* off : {"no-generation-config = true", "generation-config = false"}) {
    folder().write("o.toml", std::string("[run]\n") + off + "\n");
    const Finished without = run_n("--config o.toml");
    EXPECT_EQ(without.code, kOk) << without;
    EXPECT_FALSE(without.says("sampling defaults")) << off;
  }
  EXPECT_EQ(run_n("--generation-config own.json --no-generation-config").code, kUsage);
  const Finished absent = run_n("--generation-config none.json");
  EXPECT_EQ(absent.code, kFailed);
  EXPECT_TRUE(absent.says("none.json")) << absent;
}

TEST_F(GenerationDefaults, AModelMayBringNone) {
  bring(R"({"eos_token_id": 1, "bos_token_id": 2})");
  EXPECT_FALSE(run_n().says("sampling defaults"));
  EXPECT_TRUE(run_n("--generation-config")
                  .says("generation_config.json: none; Pando's own: temperature 0\n"));
  std::filesystem::remove(at("n/generation_config.json"));
  EXPECT_FALSE(run_n().says("sampling defaults"));
  const Finished asked = run_n("--generation-config");
  EXPECT_EQ(asked.code, kFailed);
  EXPECT_TRUE(asked.says("n/generation_config.json' does not exist")) << asked;
}

TEST_F(GenerationDefaults, WhatIsNotSupportedIsNamedThoughQuiet) {
  bring(R"({"bad_words_ids": [[1]], "suppress_tokens": [1, 2], "sequence_bias": [[[1], 2.0]],
            "num_beams": 1, "use_cache": true})");
  EXPECT_EQ(
      run_n("--quiet").err,
      "pando: sampling defaults from generation_config.json: none; Pando's own: temperature 0; "
      "not taken: bad_words_ids [...], suppress_tokens [1,2], sequence_bias [...]\n");
}

TEST_F(GenerationDefaults, AWrongValueEndsTheRun) {
  bring(R"({"temperature": "hot"})");
  const Finished wrong = run_n();
  EXPECT_EQ(wrong.code, kFailed);
  EXPECT_TRUE(wrong.says("'temperature' is \"hot\", expected 0 or more\n")) << wrong;
  EXPECT_EQ(run_n("--dry-run").code, kFailed);
  EXPECT_EQ(run_n("--no-generation-config").code, kOk);
}

TEST_F(GenerationDefaults, AreSettingsOfARun) {
  bring(kSamples);
  EXPECT_EQ(run_n("--output a.jsonl").code, kOk);
  bring(R"({"temperature": 0.9, "top_k": 3})");
  const Finished other = run_n("--output a.jsonl --resume");
  EXPECT_EQ(other.code, kFailed) << other;
  EXPECT_TRUE(other.says("temperature")) << other;
  bring(kSamples);
  EXPECT_EQ(run_n("--output a.jsonl --resume").code, kOk);
  const Finished without = run_n("--output a.jsonl --resume --no-generation-config");
  EXPECT_EQ(without.code, kFailed) << without;
}

TEST_F(GenerationDefaults, VerifyDrawsWithThem) {
  bring(kSamples);
  const Finished verified = pando(
      "verify --model n --threads 1 --kv-memory 64MiB --max-tokens 4 --sample 100% --input "
      "in.jsonl");
  EXPECT_EQ(verified.code, kOk) << verified;
  EXPECT_TRUE(verified.says("temperature 0.8, top_k 3")) << verified;
}

TEST_F(GenerationDefaults, TasksThatDrawNothingReadNone) {
  bring(R"({"temperature": "hot"})");
  folder().write("texts.jsonl", "{\"id\": \"a\", \"text\": \"A\"}\n");
  EXPECT_EQ(pando("embed --model n --threads 1 --kv-memory 64MiB --input texts.jsonl").code, kOk);
}

TEST_F(GenerationDefaults, LengthsOfTheFileAreFollowed) {
  std::string bytes;  // each of these tokens ends an answer
  for (int byte = 0; byte < 256; ++byte) bytes += (byte > 0 ? ", " : "") + std::to_string(byte);
  folder().write("any.jsonl", R"({"prompt": "P", "stop_token_ids": [)" + bytes + "]}\n");
  const auto n_tokens = [&](const std::string& options) {
    const Finished done =
        pando("run --model n --threads 1 --kv-memory 64MiB --quiet --input any.jsonl " + options);
    EXPECT_EQ(done.code, kOk) << done;
    return Json::parse(done.out)["completion_tokens"].get<int>();
  };
  bring(R"({"min_new_tokens": 5})");
  EXPECT_EQ(n_tokens(""), 6);
  EXPECT_EQ(n_tokens("--min-tokens 2"), 3);
  EXPECT_EQ(n_tokens("--max-tokens 3"), 3) << "the option decides";
  EXPECT_EQ(n_tokens("--no-generation-config"), 1);
}

// Also without a tokenizer, whose files would name them. A line may ignore them.
TEST_F(GenerationDefaults, EndTokensOfTheModelsFileEndAnswers) {
  std::filesystem::copy(at("m"), at("bare"));
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
    std::filesystem::remove(at("bare") / name);
  std::vector<int> every;
  for (int token = 0; token < 256; ++token) every.push_back(token);
  const std::string ends = Json{{"eos_token_id", every}}.dump();
  folder().write("bare/generation_config.json", ends);
  folder().write("every.json", ends);
  folder().write("tokens.jsonl", "{\"tokens\": [65]}\n{\"tokens\": [65], \"ignore_eos\": true}\n");
  const auto lengths = [&](const std::string& model, const std::string& options = "") {
    const Finished done = pando(
        "run --threads 1 --kv-memory 64MiB --quiet --ordered --max-tokens "
        "4 --input tokens.jsonl --model " +
        model + options);
    EXPECT_EQ(done.code, kOk) << done;
    std::vector<int> n;
    std::istringstream lines(done.out);
    for (std::string line; std::getline(lines, line);)
      n.push_back(Json::parse(line)["completion_tokens"].get<int>());
    return n;
  };
  const std::vector<int> ended = {1, 4}, all = {4, 4};
  EXPECT_EQ(lengths("bare"), ended);
  EXPECT_EQ(lengths("bare --no-generation-config"), ended);
  std::filesystem::remove(at("bare/generation_config.json"));
  EXPECT_EQ(lengths("bare"), all);
  EXPECT_EQ(lengths("bare", " --generation-config every.json"), ended);
  EXPECT_EQ(lengths("bare", " --generation-config every.json --ignore-eos"), all);
}

TEST_F(GenerationDefaults, KeysOfGgufHold) {
  const model::MakeModelOptions shape = {
      .shape = "tiny-llama", .out = at("s"), .dtype = DType::kF32, .vocab = 256};
  std::filesystem::create_directory(at("s"));
  ASSERT_TRUE(model::make_model(shape).ok());
  const auto config = model::ModelConfig::load(at("s"));
  const auto checkpoint = model::Checkpoint::open(at("s"));
  ASSERT_TRUE(config.ok() && checkpoint.ok());
  folder().write("q.gguf", gguf_of(*config, *checkpoint,
                                   {.more = {{"general.sampling.temp", 0.7F},
                                             {"general.sampling.min_p", 0.05F},
                                             {"general.sampling.xtc_probability", 0.5F}}}));
  folder().write("tokens.jsonl", "{\"id\": \"a\", \"tokens\": [65, 66]}\n");
  const auto ran = [&](const std::string& options) {
    return pando(
        "run --model q.gguf --threads 1 --kv-memory 64MiB --context 64 --max-tokens 8 "
        "--ignore-eos --input tokens.jsonl " +
        options);
  };
  const Finished own = ran("");
  EXPECT_EQ(own.code, kOk) << own;
  EXPECT_TRUE(
      own.says("sampling defaults from q.gguf: min_p 0.05, temperature 0.7; not taken: "
               "xtc_probability 0.5\n"))
      << own;
  EXPECT_EQ(own.out, ran("--no-generation-config --temperature 0.7 --min-p 0.05").out);
  EXPECT_NE(own.out, ran("--no-generation-config").out);
}

TEST_F(GenerationDefaults, TheServerSaysAtItsStartWhichHold) {
  bring(kSamples);
  const std::string said = serve_and_end("n");
  EXPECT_NE(
      said.find("pando: sampling defaults from generation_config.json: temperature 0.8, top_k 3\n"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("pando: 1 thread ("), std::string::npos) << said;
  EXPECT_NE(said.find("), weights in bf16, a context of 640 tokens; "), std::string::npos) << said;
  EXPECT_NE(said.find("documentation is in " PANDO_SOURCE_DIR "/docs\n"), std::string::npos)
      << said;
  const std::string own = "temperature 1, 0 for /v1/answers\n";
  EXPECT_NE(serve_and_end("n --no-generation-config").find("defaults are Pando's own: " + own),
            std::string::npos);
  bring(R"({"top_k": 3})");
  EXPECT_NE(serve_and_end("n").find("generation_config.json: top_k 3; Pando's own: " + own),
            std::string::npos);
  EXPECT_TRUE(run_n().says("generation_config.json: top_k 3; Pando's own: temperature 0\n"));
  EXPECT_NE(
      serve_and_end("n --generation-config own.json").find("own.json: temperature 0.3, top_p"),
      std::string::npos);
  const Finished absent = pando("serve --model n --port 0 --generation-config none.json");
  EXPECT_EQ(absent.code, kFailed) << absent;
  bring(R"({"temperature": "hot"})");
  const Finished wrong = pando("serve --model n --port 0 --policy fcfs --kv-memory 64MiB");
  EXPECT_EQ(wrong.code, kFailed) << wrong;
  EXPECT_TRUE(wrong.says("'temperature' is \"hot\", expected 0 or more\n")) << wrong;
}

}  // namespace
}  // namespace pando::testing
