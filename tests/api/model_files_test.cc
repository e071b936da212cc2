// Finding models by their names.
#include "pando/model_files.h"

#include <gtest/gtest.h>

#include "model/test_files.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

class FindModel : public ::testing::Test {
 protected:
  void make(const std::string& path, std::string_view text = "x") {
    fs::create_directories((cache() / path).parent_path());
    folder_.write("hub/" + path, text);
  }
  fs::path cache() const { return folder_.path() / "hub"; }
  Result<fs::path> find(const std::string& name) const { return find_model(name, cache()); }
  static bool holds(const Error& error, std::initializer_list<std::string> words) {
    for (const std::string& word : words)
      if (error.message().find(word) == std::string::npos) return false;
    return true;
  }

  const TemporaryFolder folder_;
};

TEST_F(FindModel, AModelInSeveralFilesIsOne) {
  folder_.write("m-00002-of-00002.gguf", "");
  const fs::path first = folder_.write("m-00001-of-00002.gguf", "");
  EXPECT_EQ(find(folder_.path()).value(), first);
}

TEST_F(FindModel, AFileOfWeightsNeedsItsDirectory) {
  for (const char* name : {"model.safetensors", "pytorch_model.bin", "model.pt", "config.json",
                           "tokenizer.model", "merges.txt"}) {
    const Error error = find(folder_.write(name, "")).error();
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(holds(error, {name, "expected its directory"})) << error.message();
  }
}

TEST_F(FindModel, AFileOfATokenizerIsOneByItself) {
  const auto find_tokenizer_file = [&](const char* name) {
    return find_tokenizer(folder_.write(name, ""), cache());
  };
  for (const char* name : {"tokenizer.json", "tekken.json", "tokenizer.model", "a.gguf"})
    EXPECT_EQ(find_tokenizer_file(name).value(), folder_.path() / name);
  for (const char* name : {"vocab.json", "encoder.json", "merges.txt", "model.safetensors"})
    EXPECT_TRUE(holds(find_tokenizer_file(name).error(), {name, "expected its directory"})) << name;
  EXPECT_EQ(find_tokenizer("absent.json", cache()).error().code, ErrorCode::kNotFound);
}

TEST_F(FindModel, PathsAreThemselves) {
  folder_.write("config.json", "{}");
  EXPECT_EQ(find(folder_.path()).value(), folder_.path());
  const fs::path file = folder_.write("a.gguf", "");
  EXPECT_EQ(find(file).value(), file);
  EXPECT_EQ(find("no/such/path").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(find("./absent").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(find("absent").error().message(),
            "absent: no such directory or file, expected a model's directory, a GGUF file or the "
            "id of a model in the local hub cache, such as org/name");
  fs::create_symlink("loop", folder_.path() / "loop");
  const Error loop = find(folder_.path() / "loop").error();
  EXPECT_EQ(loop.code, ErrorCode::kIo);
  EXPECT_TRUE(holds(loop, {"loop", "symbolic links"})) << loop.message();
}

TEST_F(FindModel, HubIdsAreSnapshotsOfMain) {
  make("models--org--name/refs/main", "abc123\n");
  Error error = find("org/name").error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_TRUE(holds(error, {"snapshots/abc123", "refs/main"})) << error.message();
  make("models--org--name/snapshots/abc123/config.json");
  make("models--org--name/snapshots/other/config.json");
  EXPECT_EQ(find("org/name").value(), cache() / "models--org--name/snapshots/abc123");
  error = find("org/other").error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_TRUE(holds(error, {"org/other", (cache() / "models--org--other").string()}))
      << error.message();
  EXPECT_EQ(find_model("org/name", "").error().code, ErrorCode::kNotFound);
  for (const char* bad : {"../up", "...", ""}) {
    make("models--org--bad/refs/main", bad);
    EXPECT_EQ(find("org/bad").error().code, ErrorCode::kBadFile) << bad;
  }
}

TEST_F(FindModel, AFolderOfTheHubCacheIsItsSnapshot) {
  const fs::path repository = cache() / "models--org--name", snapshots = repository / "snapshots";
  fs::create_directories(snapshots);
  Error error = find(repository).error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message(),
            snapshots.string() + ": holds no snapshot, expected the path of a model");
  make("models--org--name/snapshots/b2/config.json");
  EXPECT_EQ(find(repository).value(), snapshots / "b2");
  EXPECT_EQ(find(snapshots / "b2").value(), snapshots / "b2");
  make("models--org--name/snapshots/a1/only.gguf");
  error = find(repository).error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message(), snapshots.string() +
                               ": holds several snapshots, expected the path of one of them: a1, "
                               "b2");
  make("models--org--name/refs/main", "a1");
  EXPECT_EQ(find(repository).value(), snapshots / "a1/only.gguf");
  EXPECT_EQ(find(repository).value(), find("org/name").value());
  make("models--org--name/refs/main", "gone");
  EXPECT_FALSE(find(repository).ok());
  make("model/config.json");
  fs::create_directories(cache() / "model/snapshots");  // of a training run
  EXPECT_EQ(find(cache() / "model").value(), cache() / "model");
  make("quantised/model.gguf");
  make("quantised/snapshots/step-100/config.json");
  EXPECT_EQ(find(cache() / "quantised").value(), cache() / "quantised/model.gguf");
}

TEST_F(FindModel, TheOnlyGgufFileIsMeant) {
  make("models--org--name/refs/main", "r1");
  make("models--org--name/snapshots/r1/small.gguf");
  const fs::path snapshot = cache() / "models--org--name/snapshots/r1";
  EXPECT_EQ(find("org/name").value(), snapshot / "small.gguf");
  make("models--org--name/snapshots/r1/large.gguf");
  const Error error = find("org/name").error();
  EXPECT_TRUE(holds(error, {"large.gguf, small.gguf"})) << error.message();
  EXPECT_EQ(find("org/name/large.gguf").value(), snapshot / "large.gguf");
  EXPECT_EQ(find("org/name/none.gguf").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(find(snapshot).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pando
