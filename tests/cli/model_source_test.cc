// Where `pando run` finds a model, and --generation-config.
#include <nlohmann/json.hpp>

#include "cli/process.h"

namespace pando::testing {
namespace {

using Json = nlohmann::json;

class ModelSource : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("in.jsonl", "{\"id\": \"a\", \"prompt\": \"A prompt.\"}\n");
  }
  Finished run_model(const std::string& arguments, const std::string& before = "") {
    return pando(
        "run --threads 1 --kv-memory 64MiB --max-tokens 4 --input in.jsonl --quiet " + arguments,
        before);
  }
};

TEST_F(ModelSource, AHubIdIsLookedUpInTheCache) {
  const std::filesystem::path home = at("home");
  for (const auto& [before, cache] :
       {std::pair<std::string, std::string>{"HF_HUB_CACHE=home/a ", "a"},
        {"env -u HF_HUB_CACHE HF_HOME=home/b ", "b/hub"},
        {"env -u HF_HUB_CACHE -u HF_HOME -u XDG_CACHE_HOME HOME=home ",
         ".cache/huggingface/hub"}}) {
    const Finished absent = run_model("--model org/name", before);
    EXPECT_EQ(absent.code, 1) << absent;
    EXPECT_TRUE(absent.says("home/" + cache + "/models--org--name")) << absent;
    const std::filesystem::path repository = home / cache / "models--org--name";
    std::filesystem::create_directories(repository / "refs");
    std::filesystem::create_directories(repository / "snapshots");
    std::ofstream(repository / "refs/main") << "r1";
    std::filesystem::create_directory_symlink(at("m"), repository / "snapshots/r1");
    EXPECT_EQ(run_model("--model org/name", before).code, 0);
  }
}

TEST_F(ModelSource, GenerationConfigIsUsedOnlyWhenAskedFor) {
  std::ofstream(at("m") / "generation_config.json")
      << R"({"do_sample": true, "temperature": 0.5, "top_k": 3, "eos_token_id": [1, 2],
             "repetition_penalty": 1.1, "min_new_tokens": 2, "typical_p": 0.9})";
  const Finished plain = run_model("--model m");
  EXPECT_EQ(plain.err, "");
  const Finished asked = run_model("--model m --generation-config");
  EXPECT_EQ(asked.code, 0) << asked;
  EXPECT_TRUE(asked.says(
      "generation_config.json: used: min_tokens 2, temperature 0.5, top_k 3, "
      "repetition_penalty 1.1, end tokens 1, 2; not used: typical_p 0.9 (not supported)"))
      << asked;
  const Finished given = run_model("--model m --generation-config --temperature 0 --ignore-eos");
  EXPECT_TRUE(given.says(
      "used: min_tokens 2, top_k 3, repetition_penalty 1.1; not used: temperature 0.5 (set by an "
      "option), end tokens"))
      << given;
  EXPECT_TRUE(run_model("--model m --generation-config --repetition-penalty 1 --min-p 0")
                  .says("repetition_penalty 1.1 (set by an option)"));
  std::ofstream(at("m") / "generation_config.json") << R"({"temperature": 0.5, "top_k": 3})";
  const Finished greedy = run_model("--model m --generation-config --logits-hash");
  EXPECT_EQ(greedy.err, "");  // all of the file was used
  EXPECT_TRUE(pando("run --model m --threads 1 --kv-memory 64MiB --max-tokens 4 --input in.jsonl "
                    "--generation-config")
                  .says("generation_config.json: used: always the likeliest token"));
  EXPECT_EQ(greedy.out, run_model("--model m --logits-hash").out);
  std::filesystem::remove(at("m") / "generation_config.json");
  const Finished absent = run_model("--model m --generation-config");
  EXPECT_EQ(absent.code, 1);
  EXPECT_TRUE(absent.says("m/generation_config.json: no such file")) << absent;
}

TEST_F(ModelSource, QuietSaysNothingOfPartsThatAreNotLoaded) {
  folder().write("tokens.jsonl", "{\"tokens\": [1, 2, 3]}\n");
  const std::string run =
      "run --model '" PANDO_SOURCE_DIR
      "/tests/model/data/gemma3-vision' --threads 1 --kv-memory 16MiB --max-tokens 1 "
      "--input tokens.jsonl ";
  const Finished told = pando(run);
  EXPECT_EQ(told.code, 0) << told;
  EXPECT_TRUE(
      told.says("these parts are not loaded, because text does not need them: projector (2 "
                "tensors), vision tower (32 tensors)\n"))
      << told;
  EXPECT_EQ(pando(run + "--quiet").err, "");
}

TEST_F(ModelSource, TheLeastLengthOfTheGenerationConfigIsFollowed) {
  std::ofstream(at("m") / "generation_config.json") << R"({"min_new_tokens": 5})";
  std::string bytes;  // every one of them ends an answer
  for (int byte = 0; byte < 256; ++byte) bytes += (byte > 0 ? ", " : "") + std::to_string(byte);
  std::ofstream(at("any.jsonl")) << R"({"prompt": "P", "stop_token_ids": [)" + bytes + "]}\n";
  const auto n_tokens = [&](const std::string& options) {
    const Finished done = pando("run --model m --quiet --input any.jsonl " + options);
    EXPECT_EQ(done.code, 0) << done;
    return Json::parse(done.out)["completion_tokens"].get<int>();
  };
  EXPECT_EQ(n_tokens(""), 1);
  EXPECT_EQ(n_tokens("--generation-config"), 6);
  EXPECT_EQ(n_tokens("--generation-config --min-tokens 2"), 3);
  std::filesystem::remove(at("m") / "generation_config.json");
}

TEST_F(ModelSource, ADirectoryWithoutAModelIsRefused) {
  std::filesystem::create_directory(at("none"));
  const Finished none = run_model("--model none");
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(
      none.says("none: holds no model, expected a config.json with safetensors beside it, "
                "or a GGUF file"))
      << none;
}

TEST_F(ModelSource, FilesThatCannotBeOpenedSayWhy) {
  EXPECT_TRUE(run_model("--model m --output no/such/out").says("No such file or directory"));
  EXPECT_TRUE(run_model("--model m --report in.jsonl/x").says("Not a directory"));
  EXPECT_TRUE(pando("run --model m --input absent.jsonl").says("No such file or directory"));
  std::filesystem::create_symlink("loop", at("loop"));
  EXPECT_TRUE(run_model("--model loop").says("Too many levels of symbolic links"));
  std::filesystem::create_directory(at("l"));
  std::filesystem::create_symlink("config.json", at("l/config.json"));
  EXPECT_TRUE(run_model("--model l").says("Too many levels of symbolic links"));
}

TEST_F(ModelSource, EveryTypeOfWeightsAnswers) {
  for (const char* weights : {"stored", "q8_0", "q4_0", "int8", "bf16_dot"})
    EXPECT_EQ(run_model(std::string("--model m --weights ") + weights).code, 0) << weights;
  EXPECT_EQ(run_model("--model m --weights q5_0").code, 2);
}

}  // namespace
}  // namespace pando::testing
