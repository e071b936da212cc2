// Answers that outlive their process: journals whole, torn, foreign and of other settings.
#include "pando/answer_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "model/test_files.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

const AnswerFile::Settings kSettings = {{"model", "0123"}, {"kv-dtype", "f16"}};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AnswerFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<AnswerFile> resumed() {
    auto file = AnswerFile::resume(path_, kSettings);
    EXPECT_TRUE(file.ok()) << file.error().message();
    return file ? std::move(*file) : nullptr;
  }
  std::string refused(const AnswerFile::Settings& settings = kSettings) {
    const auto file = AnswerFile::resume(path_, settings);
    return file.ok() ? "taken" : file.error().message();
  }
  // Three answers, of which the last is two lines.
  void write_three() {
    auto file = AnswerFile::create(path_, kSettings);
    ASSERT_TRUE(file.ok()) << file.error().message();
    (*file)->append({.line = 2, .question = 1, .input_hash = 7, .n_answers = 1}, "b\n");
    (*file)->append({.line = 1, .question = 0, .input_hash = 5, .n_answers = 1}, "a\n");
    ASSERT_TRUE((*file)->commit().ok());
    (*file)->append({.line = 2, .question = 0, .input_hash = 7, .logits_hash = 9, .n_answers = 2},
                    "c\nd\n");
    ASSERT_TRUE((*file)->commit().ok());
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "answers.jsonl";
  fs::path journal_ = folder_.path() / "answers.jsonl.journal";
};

TEST_F(AnswerFileTest, WhatWasWrittenIsFound) {
  write_three();
  const auto file = resumed();
  EXPECT_EQ(file->n_earlier(), 4u);
  EXPECT_EQ(file->find(3, 0), nullptr);
  EXPECT_EQ(file->find(1, 1), nullptr);
  const AnswerRecord* found = file->find(2, 0);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->input_hash, 7u);
  EXPECT_EQ(found->logits_hash, 9u);
  EXPECT_EQ(found->n_answers, 2);
  EXPECT_EQ(*file->read(*found), "c\nd\n");
  EXPECT_EQ(*file->read(*file->find(1, 0)), "a\n");
}

// A disk that is full in the middle of an answer.
TEST_F(AnswerFileTest, WhatCouldNotBeWrittenIsNotWrittenTwice) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  {
    auto file = AnswerFile::create(path_, kSettings);
    ASSERT_TRUE(file.ok());
    (*file)->append({.line = 1, .n_answers = 1}, "a\n");
    ASSERT_TRUE((*file)->flush().ok());
    const rlimit small{.rlim_cur = 1000, .rlim_max = limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    (*file)->append({.line = 2, .n_answers = 1}, std::string(2000, 'b') + "\n");
    EXPECT_EQ((*file)->commit().error().code, ErrorCode::kIo);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_TRUE((*file)->flush().ok()) << "nothing is left to write";
    EXPECT_EQ(contents(path_).size(), 1000u);
  }
  std::signal(SIGXFSZ, old_handler);
  const auto file = resumed();
  EXPECT_EQ(file->n_earlier(), 1u);
  EXPECT_EQ(contents(path_), "a\n");
}

TEST_F(AnswerFileTest, ATornJournalAtEveryByte) {
  write_three();
  const std::string answers = contents(path_), journal = contents(journal_);
  const size_t header = journal.find('\n') + 1;
  for (size_t n = header; n <= journal.size(); ++n) {
    std::ofstream(journal_) << journal.substr(0, n);
    std::ofstream(path_) << answers << "an answer that the journal does not know";
    const auto file = resumed();
    ASSERT_NE(file, nullptr);
    const auto n_records = std::count(journal.begin() + static_cast<ptrdiff_t>(header),
                                      journal.begin() + static_cast<ptrdiff_t>(n), '\n');
    EXPECT_EQ(contents(path_), n_records == 0   ? ""
                               : n_records == 1 ? "b\n"
                               : n_records == 2 ? "b\na\n"
                                                : answers);
    EXPECT_TRUE(contents(journal_).ends_with('\n'));
    file->append({.line = 9, .n_answers = 1}, "e\n");
    EXPECT_TRUE(file->commit().ok());
    EXPECT_TRUE(contents(path_).ends_with("e\n"));
  }
}

TEST_F(AnswerFileTest, AnswersThatTheDiskLostAreAskedForAgain) {
  write_three();
  fs::resize_file(path_, 5);
  {
    const auto file = resumed();
    EXPECT_EQ(file->find(2, 0), nullptr);
    EXPECT_NE(file->find(1, 0), nullptr);
    EXPECT_EQ(contents(path_), "b\na\n");
    EXPECT_EQ(file->n_cut_off(), 0u) << "no complete line";
    file->append({.line = 2, .question = 0, .n_answers = 2}, "c\nd\n");
    EXPECT_TRUE(file->commit().ok());
  }
  EXPECT_EQ(resumed()->n_earlier(), 4u);
}

// A killed run may leave such lines too, so they are counted, not refused.
TEST_F(AnswerFileTest, LinesThatTheJournalDoesNotConfirmAreCounted) {
  write_three();
  std::ofstream(path_, std::ios::app) << "e\nf\ng";
  {
    const auto file = resumed();
    EXPECT_EQ(file->n_cut_off(), 2u);
    EXPECT_EQ(file->n_earlier(), 4u);
    EXPECT_EQ(contents(path_), "b\na\nc\nd\n");
  }
  EXPECT_EQ(resumed()->n_cut_off(), 0u);
  // Nothing is confirmed yet.
  EXPECT_TRUE(AnswerFile::create(path_, kSettings, /*overwrite=*/true).ok());
  std::ofstream(path_) << "another\nfile\n";
  EXPECT_EQ(resumed()->n_cut_off(), 2u);
  path_ += ".gz";
  EXPECT_TRUE(AnswerFile::create(path_, kSettings).ok());
  std::ofstream(path_) << "12345";
  EXPECT_EQ(resumed()->n_cut_off(), 5u);
}

// A changed file has the same lines at other places, or other bytes at the same ones.
TEST_F(AnswerFileTest, AnswersThatWereChangedAreRefused) {
  write_three();
  const std::string answers = contents(path_), journal = contents(journal_);
  const std::string said = " do not fit together from byte ";
  for (const std::string& other :
       {"x\n" + answers, "b\n" + answers, std::string("b\nA\nc\nd\n"), std::string("b\na\nd\nc\n"),
        std::string("another file, that is longer\n"), std::string("b"), std::string("x\na\n")}) {
    std::ofstream(path_) << other;
    EXPECT_NE(refused().find(said), std::string::npos) << other;
    EXPECT_EQ(contents(path_), other);
    EXPECT_EQ(contents(journal_), journal);
  }
  std::ofstream(path_) << answers;
  EXPECT_TRUE(resumed()->finish(0, "").ok());
  std::ofstream(path_) << "b\na\nc\nD\n";
  EXPECT_NE(refused().find(said + "0"), std::string::npos);
  std::ofstream(path_) << answers;
  EXPECT_TRUE(resumed()->was_finished());
}

TEST_F(AnswerFileTest, AJournalThatWasChangedIsRefused) {
  write_three();
  const std::string answers = contents(path_), journal = contents(journal_);
  std::vector<std::string> lines;
  std::istringstream in(journal);
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  ASSERT_EQ(lines.size(), 4u);
  std::string other_line = lines[1], other_settings = lines[0];
  other_line.replace(other_line.find("\"line\":2"), 8, "\"line\":3");
  other_settings.replace(other_settings.find("\"created\":") + 10, 1, "9");
  for (const std::string& other :
       {lines[0] + lines[2] + lines[3], lines[0] + lines[1] + lines[3],
        lines[0] + lines[2] + lines[1] + lines[3], lines[0] + other_line + lines[2] + lines[3],
        other_settings + lines[1] + lines[2] + lines[3], lines[0] + lines[1] + lines[1]}) {
    std::ofstream(journal_) << other;
    EXPECT_NE(refused(), "taken") << other;
    EXPECT_EQ(contents(path_), answers);
  }
  std::ofstream(journal_) << lines[0].substr(0, lines[0].find(",\"hash\"")) << "}\n";
  EXPECT_NE(refused().find(", line 1: has no hash at its end"), std::string::npos);
  std::ofstream(journal_) << "{\"pando_journal\":1,\"created\":1,\"settings\":{}}\n";
  EXPECT_NE(refused().find("has version 1, expected 2: another version of Pando wrote it"),
            std::string::npos);
}

TEST_F(AnswerFileTest, OtherSettingsAreNamed) {
  write_three();
  EXPECT_EQ(
      refused({{"model", "0123"}, {"kv-dtype", "bf16"}, {"n", "2"}}),
      std::string("'") + path_.string() +
          "' comes from a run with other settings: kv-dtype: 'f16', now 'bf16'; n: not set, now "
          "'2'");
  EXPECT_EQ(refused({{"model", "0123"}}), std::string("'") + path_.string() +
                                              "' comes from a run with other settings: kv-dtype: "
                                              "'f16', now not set");
  EXPECT_EQ(resumed()->n_earlier(), 4u) << "nothing was lost";
}

TEST_F(AnswerFileTest, WhatAFileHoldsIsNotOverwrittenUnlessAskedFor) {
  const auto said = [&](bool overwrite) {
    const auto file = AnswerFile::create(path_, kSettings, overwrite);
    return file ? "" : file.error().message().substr(file.error().message().find(" holds "));
  };
  const char* const of_run = " holds 4 answers of an earlier run, expected an empty file";
  write_three();
  EXPECT_EQ(said(false), of_run);
  EXPECT_EQ(contents(path_), "b\na\nc\nd\n");
  EXPECT_EQ(resumed()->n_earlier(), 4u);
  EXPECT_TRUE(resumed()->finish(3, "{\"lines\":4}").ok());
  EXPECT_EQ(said(false), of_run);
  EXPECT_TRUE(resumed()->was_finished());

  EXPECT_EQ(said(true), "");
  EXPECT_EQ(contents(path_), "");
  EXPECT_EQ(resumed()->n_earlier(), 0u);
  EXPECT_EQ(said(false), "") << "nothing is lost";
  std::ofstream(path_) << "one\ntwo";
  std::ofstream(journal_) << "not json\n";
  EXPECT_EQ(said(true), "");
  fs::remove(journal_);
  std::ofstream(path_) << "one\ntwo";
  EXPECT_EQ(said(false), " holds 2 lines without a journal, expected an empty file");
  EXPECT_EQ(contents(path_), "one\ntwo");
}

TEST_F(AnswerFileTest, AFinishedRunIsKept) {
  write_three();
  EXPECT_TRUE(resumed()->finish(3, "{\"lines\":4}").ok());
  EXPECT_TRUE(resumed()->was_finished());
  EXPECT_EQ(resumed()->n_left_out(), 3u);
  EXPECT_EQ(resumed()->summary(), "{\"lines\":4}");
  EXPECT_EQ(contents(path_), "b\na\nc\nd\n");
  EXPECT_LT(contents(journal_).size(), 200u);
}

TEST_F(AnswerFileTest, AFinishedRunWithoutItsAnswersIsAnError) {
  write_three();
  EXPECT_TRUE(resumed()->finish(0, "").ok());
  fs::resize_file(path_, 4);
  EXPECT_NE(refused().find("has 4 bytes, expected 8 as written by the finished run"),
            std::string::npos);
  fs::remove(path_);
  EXPECT_NE(refused().find("has 0 bytes"), std::string::npos);
}

TEST_F(AnswerFileTest, WithoutAnythingToResumeARunBegins) {
  EXPECT_EQ(resumed()->n_earlier(), 0u);
  EXPECT_TRUE(fs::exists(journal_));
}

TEST_F(AnswerFileTest, ForeignFilesAreRefusedAndKept) {
  std::ofstream(path_) << "somebody's answers\n";
  EXPECT_NE(refused().find("cannot be resumed: its journal '"), std::string::npos);
  for (const char* journal :
       {"", "not json\n", "{}\n", "{\"pando_journal\": 1, \"created\": 1}\n",
        "{\"pando_journal\":2,\"created\":1}\n", "[1]\n",
        "{\"pando_journal\":2,\"created\":1,\"settings\":{},\"hash\":\"0123456789abcdef\"}\n"
        "{\"line\":0}\n"}) {
    std::ofstream(journal_) << journal;
    EXPECT_NE(refused().find("answers.jsonl.journal"), std::string::npos) << journal;
  }
  EXPECT_EQ(contents(path_), "somebody's answers\n");
}

TEST_F(AnswerFileTest, OneProcessAtATime) {
  write_three();
  const auto first = resumed();
  EXPECT_EQ(refused(), "another process is writing '" + path_.string() + "'");
}

}  // namespace
}  // namespace pando::testing
