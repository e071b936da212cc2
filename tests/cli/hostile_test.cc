// Files that are not what they should be, and outputs that go away: an error that names the file,
// never a crash, a hang or memory for what a header claims.
#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/exit_code.h"
#include "cli/process.h"
#include "text/json_file.h"

namespace pando::testing {
namespace {

using cli::kFailed;
using cli::kIncomplete;
using cli::kOk;

constexpr const char* kModelFiles[] = {"config.json", "model.safetensors", "tokenizer.json",
                                       "tokenizer_config.json", "generation_config.json"};

class HostileTest : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("m/generation_config.json", "{}");
    folder().write("good.jsonl", "{\"prompt\": \"A prompt.\"}\n");
    ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  }

  // A fresh copy of the model, `bad`.
  void SetUp() override {
    std::filesystem::remove_all(at("bad"));
    std::filesystem::copy(at("m"), at("bad"));
  }

  // Ended by force where it waits for something, or takes memory that no small model needs.
  Finished run(const std::string& arguments) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const std::string limits = "timeout 120 ";  // sanitizers take terabytes of addresses
#else
    const std::string limits = "ulimit -v 4000000; timeout 60 ";
#endif
    return pando("run --threads 1 --kv-memory 64MiB --max-tokens 4 --ignore-eos " + arguments,
                 limits);
  }

  void expect_refused(const std::string& name, const std::string& message) {
    const std::string options = "--model bad --generation-config --input good.jsonl";
    const Finished finished = run(options);
    EXPECT_EQ(finished.code, kFailed) << name << ": " << finished;
    EXPECT_TRUE(finished.says(name) && finished.says(message)) << name << ": " << finished;
    EXPECT_TRUE(finished.err.starts_with("pando: ") && finished.err.size() < 1000) << finished;
    EXPECT_EQ(finished.out, "");
  }

  void replace_field(const std::string& name, const std::string& field, const Json& value) {
    Json document = Json::parse(contents(at("m") / name));
    document[field] = value;
    folder().write("bad/" + name, document.dump());
  }
};

TEST_F(HostileTest, WhatIsNoFile) {
  for (const std::string name : kModelFiles) {
    const std::filesystem::path path = at("bad") / name;
    const auto link_to = [&](const std::filesystem::path& target) {
      std::filesystem::remove(path);
      std::filesystem::create_symlink(target, path);
    };
    link_to(name);
    expect_refused(name, "is a broken link to");
    for (const std::filesystem::path& target : {at("pipe"), std::filesystem::path("/dev/zero")}) {
      link_to(target);
      expect_refused(name, "regular file");
    }
    link_to(at("m"));
    expect_refused(name, "is a directory, expected a file");
    std::filesystem::remove(path);
    folder().write("bad/" + name, "");
    expect_refused(name, "is empty");
    std::filesystem::copy_file(at("m") / name, path,
                               std::filesystem::copy_options::overwrite_existing);
  }
}

TEST_F(HostileTest, WhatIsCutShortOrNotUtf8) {
  for (const std::string name : kModelFiles) {
    const std::string good = contents(at("m") / name);
    const bool json = name.ends_with(".json");
    folder().write("bad/" + name, good.substr(0, good.size() / 2));
    expect_refused(name, json ? "not JSON" : "cut short");
    if (json) {
      folder().write("bad/" + name, "{\"\xff\": 1}");
      expect_refused(name, "ill-formed UTF-8");
      folder().write("bad/" + name, std::string(1'000'000, '['));
      expect_refused(name, "nested deeper than 64 levels");
      folder().write("bad/" + name, "{\"a\": 1, \"a\": 1}");
      expect_refused(name, "'a' appears twice, expected once");
    }
    folder().write("bad/" + name, good);
  }
}

// A model of these sizes would take from terabytes to 2^84 bytes.
TEST_F(HostileTest, SizesThatTheFileDoesNotHold) {
  const struct {
    const char* field;
    Json value;
    const char* message;
  } cases[] = {{"vocab_size", 1 << 24, "has shape"},
               {"hidden_size", 1 << 20, "has shape"},
               {"intermediate_size", 1 << 20, "has shape"},
               {"num_hidden_layers", 1 << 12, "is absent"},
               {"max_position_embeddings", 1 << 30, "context"},
               {"vocab_size", uint64_t{1} << 63, "'vocab_size' is 9223372036854775808, expected"},
               {"hidden_size", -1, "'hidden_size' is -1, expected a multiple of 2 in [1, 1048576]"},
               {"rms_norm_eps", "NaN", "'rms_norm_eps' is \"NaN\", expected a number"}};
  for (const auto& [field, value, message] : cases) {
    replace_field("config.json", field, value);
    const std::string names_file = std::string(message) == "context" ? "" : "bad/";
    expect_refused(names_file, message);
  }
}

TEST_F(HostileTest, HeaderLengthBeyondTheFile) {
  for (const uint64_t length : {uint64_t{1} << 32, uint64_t{1} << 63, UINT64_MAX}) {
    std::string bytes = contents(at("m") / "model.safetensors");
    std::memcpy(bytes.data(), &length, sizeof length);
    folder().write("bad/model.safetensors", bytes);
    expect_refused("model.safetensors", fmt::format("header length is {}, expected", length));
  }
}

TEST_F(HostileTest, InputOfOtherSystems) {
  folder().write("windows.jsonl",
                 "\xef\xbb\xbf{\"prompt\": \"One.\"}\r\n\r\n{\"prompt\": \"Two.\"}\r\n");
  const Finished windows = run("--model m --input windows.jsonl");
  EXPECT_EQ(windows.code, kOk) << windows;
  EXPECT_EQ(std::count(windows.out.begin(), windows.out.end(), '\n'), 2) << windows;
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * i >> 2);
  folder().write("binary.jsonl",
                 bytes + "\n{\"prompt\": \"a" + '\0' + "b\"}\n{\"prompt\": \"c\"}\n");
  const Finished binary = run("--model m --input binary.jsonl");
  EXPECT_EQ(binary.code, kIncomplete) << binary;
  EXPECT_TRUE(binary.says("line 1: not JSON")) << binary;
  EXPECT_EQ(std::count(binary.out.begin(), binary.out.end(), '\n'), 1) << binary;
}

// Time and memory in proportion to the line. 100 MB take nine seconds and 2.3 GB.
TEST_F(HostileTest, LongLines) {
  const size_t n_bytes = std::getenv("PANDO_SLOW_TESTS") != nullptr ? 100'000'000 : 10'000'000;
  const std::string word = "word ";
  std::string text;
  while (text.size() < n_bytes) text += word;
  folder().write("long.jsonl",
                 fmt::format("{{\"prompt\": \"{}\"}}\n{}\n{{\"prompt\": \"x\"}}\n", text, text));
  const Finished finished = run("--model m --input long.jsonl");
  EXPECT_EQ(finished.code, kIncomplete) << finished;
  EXPECT_TRUE(finished.says("line 1: the prompt has")) << finished;
  EXPECT_TRUE(finished.says("line 2: not JSON")) << finished;
  EXPECT_LT(finished.err.size(), 1000u);
  EXPECT_EQ(std::count(finished.out.begin(), finished.out.end(), '\n'), 1) << finished;
}

// Ends at once, by SIGPIPE or with an error, and what was written is whole lines.
TEST_F(HostileTest, APipeThatCloses) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += fmt::format("{{\"prompt\": \"A prompt {}.\"}}\n", i);
  folder().write("many.jsonl", lines);
  const std::string command = fmt::format(
      "cd '{}' && {{ timeout 60 '{}' run --model m --threads 1 --kv-memory 64MiB --max-tokens 4 "
      "--input many.jsonl 2> stderr.txt; echo $? > code.txt; }} | head -n 1 > stdout.txt",
      folder().path().string(), PANDO_BINARY);
  ASSERT_EQ(std::system(command.c_str()), 0);
  const int code = std::stoi(contents(at("code.txt")));
  EXPECT_TRUE(code == 128 + SIGPIPE || code == kFailed) << code << contents(at("stderr.txt"));
  EXPECT_TRUE(Json::parse(contents(at("stdout.txt"))).contains("text"));
}

}  // namespace
}  // namespace pando::testing
