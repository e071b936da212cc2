#include "hub/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <ctime>
#include <fstream>
#include <thread>

#include "hub/cached_models.h"
#include "hub/digest.h"
#include "hub/fetch.h"
#include "hub/file_lock.h"
#include "model/test_files.h"

namespace pando::hub {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, 'a'), kEtag(40, 'e');

class HubCache : public ::testing::Test {
 protected:
  // Puts a file into the snapshot of kCommit.
  void put(const std::string& name, const std::string& text, const std::string& etag) {
    fs::create_directories(repository_.blob("x").parent_path());
    std::ofstream(repository_.blob(etag)) << text;
    ASSERT_TRUE(repository_.link(kCommit, name, etag));
  }
  std::optional<CachedModel> find(const std::string& id, Need need = Need::kModel) const {
    return find_cached(folder_.path(), *parse_model_id(id), "main", need);
  }

  TemporaryFolder folder_;
  ModelId id_ = *parse_model_id("org/name");
  CachedRepository repository_{folder_.path(), id_};
};

TEST_F(HubCache, LinksAreRelative) {
  put("a/b/config.json", "text", kEtag);
  const fs::path link = repository_.snapshot(kCommit) / "a/b/config.json";
  EXPECT_EQ(fs::read_symlink(link), "../../../../blobs/" + kEtag);
  EXPECT_TRUE(fs::is_regular_file(link));
  EXPECT_TRUE(repository_.has(kCommit, "a/b/config.json"));
  EXPECT_TRUE(repository_.link(kCommit, "a/b/config.json", std::string(40, 'f')));
  EXPECT_FALSE(repository_.has(kCommit, "a/b/config.json")) << "the new blob is not here";
}

TEST_F(HubCache, RefsAreTextsWithoutALineBreak) {
  EXPECT_EQ(repository_.commit_of("main"), "");
  put("x", "", kEtag);
  ASSERT_TRUE(repository_.write_ref("refs/pr/1", kCommit));
  EXPECT_EQ(repository_.commit_of("refs/pr/1"), kCommit);
  EXPECT_EQ(fs::file_size(repository_.folder() / "refs/refs/pr/1"), kCommit.size());
  ASSERT_TRUE(repository_.write_ref("main", "../../outside"));
  EXPECT_EQ(repository_.commit_of("main"), "");
  EXPECT_EQ(repository_.commit_of("../refs/refs/pr/1"), "");
  EXPECT_EQ(repository_.commit_of(kCommit), kCommit);
}

TEST_F(HubCache, AModelIsWholeWithItsShardsAndTokenizer) {
  EXPECT_FALSE(find("org/name"));
  put("config.json", "{}", kEtag);
  ASSERT_TRUE(repository_.write_ref("main", kCommit));
  EXPECT_FALSE(find("org/name")->has_weights);
  put(kIndex, R"({"weight_map": {"t": "s.safetensors"}})", "1");
  EXPECT_FALSE(find("org/name")->has_weights);
  put("s.safetensors", "w", "2");
  EXPECT_TRUE(find("org/name")->has_weights);
  EXPECT_FALSE(find("org/name")->has_tokenizer);
  EXPECT_FALSE(find("org/name", Need::kTokenizer)->has_tokenizer);
  put("tokenizer.json", "{}", "3");
  EXPECT_TRUE(find("org/name")->has_tokenizer);
  EXPECT_TRUE(find("org/name", Need::kTokenizer)->has_tokenizer);
  EXPECT_EQ(find("org/name")->path, repository_.snapshot(kCommit));
  EXPECT_FALSE(find("org/name:Q8_0"));
  put("q/x-Q8_0.gguf", "g", "4");
  EXPECT_EQ(find("org/name:q8_0")->path, repository_.snapshot(kCommit) / "q/x-Q8_0.gguf");
}

TEST_F(HubCache, TheListingOfACommitSaysWhatIsMissing) {
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
    put(name, "{}", kEtag);
  ASSERT_TRUE(repository_.write_ref("main", kCommit));
  EXPECT_TRUE(find("org/name")->has_weights);
  EXPECT_FALSE(find("org/name")->missing) << "it is not known what the hub has";
  ASSERT_TRUE(repository_.keep_listing(
      kCommit, {"README.md", "config.json", "model.safetensors", "modules.json",
                "1_Pooling/config.json", "tokenizer.json", "tokenizer_config.json"}));
  using Names = std::vector<std::string>;
  EXPECT_EQ(find("org/name")->missing,
            (Names{"1_Pooling/config.json", "modules.json", "tokenizer_config.json"}));
  EXPECT_EQ(find("org/name", Need::kTokenizer)->missing, Names{"tokenizer_config.json"});
  for (const char* name : {"1_Pooling/config.json", "modules.json", "tokenizer_config.json"})
    put(name, "{}", kEtag);
  EXPECT_EQ(find("org/name")->missing, Names());
  std::ofstream(repository_.listings() / (kCommit + ".json")) << "[\"config";
  EXPECT_FALSE(find("org/name")->missing) << "the listing is not whole";
}

TEST_F(HubCache, FetchesShareALockThatARemovalWants) {
  put("x", "text", kEtag);
  const auto never = [] { return false; };
  {
    const auto one = FileLock::acquire(repository_.model_lock(), never, Sharing::kShared);
    const auto two = FileLock::acquire(repository_.model_lock(), never, Sharing::kShared);
    ASSERT_TRUE(one && two);
    const auto removed = remove_cached(folder_.path(), id_, "");
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().code, ErrorCode::kUnavailable);
  }
  EXPECT_TRUE(remove_cached(folder_.path(), id_, ""));
}

TEST_F(HubCache, ARemovalOpensFewFiles) {
  constexpr int kBlobs = 600;
  put("x", "text", kEtag);
  for (int i = 0; i < kBlobs; ++i) std::ofstream(repository_.blob(std::to_string(i))) << "b";
  ASSERT_TRUE(repository_.link(std::string(40, 'b'), "y", "7"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 256, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto removed = remove_cached(folder_.path(), id_, kCommit);
  const auto all = remove_cached(folder_.path(), id_, "");
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_EQ(removed->n_files, static_cast<uint64_t>(kBlobs)) << "all but 7, and that of x";
  ASSERT_TRUE(all);
  EXPECT_EQ(all->n_files, 1u);
}

TEST_F(HubCache, AModelThatIsBeingFetchedIsNotRemoved) {
  put("x", "text", kEtag);
  const auto lock = FileLock::acquire(repository_.lock(kEtag), [] { return true; });
  ASSERT_TRUE(lock);
  const auto removed = remove_cached(folder_.path(), id_, "");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(repository_.has(kCommit, "x"));
}

// The hub's own library locks one file after another, and holds no lock in between.
TEST_F(HubCache, ARemovalLeavesAFileThatAnotherProgramBegan) {
  constexpr int kFiles = 400;
  std::atomic<bool> is_over{false};
  int n_whole = 0, n_lost = 0;
  std::thread other([&] {
    for (int i = 0; i < kFiles; ++i) {
      const auto lock = FileLock::acquire(repository_.lock(kEtag), [] { return true; });
      std::error_code failure;
      fs::create_directories(repository_.blob(kEtag).parent_path(), failure);
      std::ofstream file(repository_.incomplete(kEtag));
      if (!lock || !file) continue;  // the folder was removed while it was empty
      file << "text";
      file.close();
      fs::rename(repository_.incomplete(kEtag), repository_.blob(kEtag), failure);
      const bool is_there = !failure && fs::exists(repository_.blob(kEtag), failure);
      ++(is_there ? n_whole : n_lost);
    }
    is_over = true;
  });
  while (!is_over) (void)remove_cached(folder_.path(), id_, "");
  other.join();
  EXPECT_EQ(n_lost, 0);
  EXPECT_GT(n_whole, 0);
}

TEST_F(HubCache, ALinkTakesThePlaceOfAFile) {
  fs::create_directories(repository_.snapshot(kCommit) / "folder");
  std::ofstream(repository_.snapshot(kCommit) / "x") << "old";
  put("x", "new", kEtag);
  EXPECT_TRUE(fs::is_symlink(repository_.snapshot(kCommit) / "x"));
  EXPECT_EQ(fs::file_size(repository_.snapshot(kCommit) / "x"), 3u);
  EXPECT_FALSE(repository_.link(kCommit, "folder", kEtag)) << "a folder stays";
  for (const char* name : {"../x", "a/../../x", "/x", ".."})
    EXPECT_FALSE(repository_.link(kCommit, name, kEtag)) << name;
  fs::create_directory_symlink(folder_.path(), repository_.snapshot(kCommit) / "out");
  EXPECT_FALSE(repository_.link(kCommit, "out/y", kEtag));
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder_.path() / "y")));
}

TEST_F(HubCache, ARemovalSweepsWhatIsLeftOver) {
  const std::string other(40, 'b');
  put("config.json", "text", kEtag);
  ASSERT_TRUE(repository_.link(other, "config.json", kEtag));
  std::ofstream(repository_.incomplete("1")) << "left";
  std::ofstream(repository_.blob("2.0123abcd.incomplete")) << "left by another program";
  const fs::path young = repository_.folder() / ".pando-1", old = repository_.folder() / ".pando-2";
  fs::create_symlink("blobs/none", young);
  fs::create_symlink("blobs/none", old);
  const timespec then = {.tv_sec = time(nullptr) - 3700, .tv_nsec = 0}, times[] = {then, then};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  {
    const auto lock = FileLock::acquire(repository_.lock("2"), [] { return true; });
    ASSERT_TRUE(lock);
    EXPECT_FALSE(remove_cached(folder_.path(), id_, kCommit));
    EXPECT_TRUE(fs::exists(repository_.blob("2.0123abcd.incomplete"))) << "it is being fetched";
  }
  const auto swept = remove_cached(folder_.path(), id_, kCommit);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->n_files, 2u);
  EXPECT_TRUE(repository_.has(other, "config.json"));
  EXPECT_FALSE(fs::exists(repository_.incomplete("1")));
  EXPECT_TRUE(fs::is_symlink(young)) << "it may be in use";
  EXPECT_FALSE(fs::is_symlink(old));
}

TEST_F(HubCache, FoldersOfOthersAreNotListed) {
  put("x", "text", kEtag);
  for (const char* name : {"datasets--a--b/snapshots/c", "models--a/snapshots/c", ".locks/x"})
    fs::create_directories(folder_.path() / name);
  const auto models = cached_models(folder_.path());
  ASSERT_TRUE(models);
  ASSERT_EQ(models->size(), 1);
  EXPECT_EQ((*models)[0].repository, "org/name");
  EXPECT_EQ((*models)[0].n_bytes, 4);
  EXPECT_EQ((*models)[0].refs, std::vector<std::string>());
  EXPECT_TRUE(cached_models(folder_.path() / "absent")->empty());
}

TEST_F(HubCache, DigestsAreThoseOfTheHub) {
  const std::atomic<bool> stop{false};
  const fs::path file = folder_.write("f", "hello\n");
  // As `git hash-object` and `sha256sum` give them.
  EXPECT_EQ(digest_of_file(file, Digest::kGitSha1, stop).value(),
            "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(digest_of_file(file, Digest::kSha256, stop).value(),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
  EXPECT_FALSE(digest_of_file(folder_.path() / "absent", Digest::kSha256, stop));
}

TEST(BytesText, HasThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_text(99'960), "100 kB");
  EXPECT_EQ(bytes_text(1'234'000'000), "1.2 GB");
}

}  // namespace
}  // namespace pando::hub
