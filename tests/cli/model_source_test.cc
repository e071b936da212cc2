// `pando run` finds a model in these places.
#include "cli/process.h"

namespace pando::testing {
namespace {

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
       {std::pair<std::string, std::string>{"HF_HUB_OFFLINE=1 HF_HUB_CACHE=home/a ", "a"},
        {"env -u HF_HUB_CACHE HF_HUB_OFFLINE=1 HF_HOME=home/b ", "b/hub"},
        {"env -u HF_HUB_CACHE -u HF_HOME -u XDG_CACHE_HOME HF_HUB_OFFLINE=1 HOME=home ",
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
  EXPECT_TRUE(run_model("--model l").says("l/config.json: is a broken link to 'config.json'"));
  std::filesystem::create_symlink("nowhere", at("broken"));
  EXPECT_TRUE(run_model("--model broken").says("broken: is a broken link to 'nowhere'"));
}

TEST_F(ModelSource, EveryTypeOfWeightsAnswers) {
  for (const char* weights : {"stored", "q8_0", "q4_0", "int8", "bf16_dot"})
    EXPECT_EQ(run_model(std::string("--model m --weights ") + weights).code, 0) << weights;
  EXPECT_EQ(run_model("--model m --weights q5_0").code, 2);
}

}  // namespace
}  // namespace pando::testing
