// Inputs as people have them: arrays, packed files, tables of other programs.
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <sstream>

#include "batch/gzip.h"
#include "batch/record_scanner.h"
#include "engine/tiny_engine.h"
#include "model/test_files.h"
#include "pando/batch.h"
#include "pando/file_input.h"

namespace pando::testing {
namespace {

std::string zstd_frame(const std::string& text) {
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 3));
  return frame;
}

// A frame whose header gives the window, as zstd writes it to a pipe.
std::string zstd_window_frame(const std::string& text, int window_log) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);  // so that the frame lacks the size
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  frame.resize(out.pos);
  frame[5] = static_cast<char>((window_log - 10) << 3);  // RFC 8878, 3.1.1.1.2
  return frame;
}

// The texts of its records, and why there are no more.
std::vector<std::string> records(const std::string& input) {
  std::istringstream in(input);
  RecordScanner scanner(in, InputFormat::kJsonLines);
  std::vector<std::string> texts;
  while (const auto record = scanner.next()) {
    EXPECT_EQ(record->line, texts.size() + 1);
    EXPECT_STREQ(record->place(), "object");
    texts.push_back(record->text);
  }
  if (!scanner.failure().empty()) texts.push_back("failure: " + scanner.failure());
  return texts;
}

using Texts = std::vector<std::string>;

TEST(InputArray, ItsElementsAreRecords) {
  EXPECT_EQ(records(R"([{"a": "],[\"{"}, {"b": [1, {"c": 2}]}])"),
            (Texts{R"({"a": "],[\"{"})", R"({"b": [1, {"c": 2}]})"}));
  EXPECT_EQ(records("\xef\xbb\xbf \n[\n  {\n    \"a\": \"\\\\\"\n  }\n,\n 5 ]\n\n"),
            (Texts{"{\n    \"a\": \"\\\\\"\n  }\n", "5 "}));
  EXPECT_EQ(records("[]"), Texts{});
  EXPECT_EQ(records(" [ \n ] "), Texts{});
}

TEST(InputArray, WhatIsTornOrGoesOnIsSaid) {
  EXPECT_EQ(records("[{\"a\": 1}, {\"b\""),
            (Texts{"{\"a\": 1}", "failure: the array does not end: the input stops in object 2"}));
  EXPECT_EQ(records("[1"), Texts{"failure: the array does not end: the input stops in object 1"});
  EXPECT_EQ(records("[1]\n{}"),
            (Texts{"1", "failure: the array ends after object 1, but more text follows: '{'"}));
}

struct Asked {
  std::string out;
  std::vector<std::string> problems;
  std::string error;
};

Asked ask(std::istream& in, BatchOptions options = {}) {
  Asked asked;
  std::ostringstream out;
  options.defaults.sampling.max_tokens = 2;
  options.defaults.sampling.ignore_eos = true;
  options.ordered = true;
  options.on_problem = [&](const std::string& message) { asked.problems.push_back(message); };
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  if (!summary) asked.error = summary.error().message();
  asked.out = out.str();
  return asked;
}

Asked ask(const std::string& input, const BatchOptions& options = {}) {
  std::istringstream in(input);
  return ask(in, options);
}

TEST(InputArray, IsAnsweredAsItsLines) {
  const Asked lines = ask("{\"prompt\": \"One\"}\n{\"prompt\": \"Two\"}\n");
  EXPECT_EQ(ask(R"([{"prompt": "One"}, {"prompt": "Two"}])").out, lines.out);
  const Asked bad = ask("[{\"prompt\": \"One\"},\n 7, {\"prompt\": \"\"}]");
  EXPECT_EQ(bad.problems, (Texts{"object 2: the line is 7, expected an object",
                                 "object 3: the prompt is empty, expected at least one token"}));
}

class PackedInput : public ::testing::Test {
 protected:
  Asked ask_file(const std::string& bytes) {
    const auto path = folder_.path() / "input";
    std::ofstream(path, std::ios::binary) << bytes;
    FileInput file;
    EXPECT_TRUE(file.open(path.string()).ok());
    const bool is_packed = bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5") ||
                           bytes.starts_with(kSkippableFrame);
    EXPECT_EQ(file.n_bytes(), is_packed ? 0 : bytes.size());
    std::istream in(&file);
    return ask(in);
  }
  // Magic number, length, and three bytes.
  static constexpr std::string_view kSkippableFrame{"\x5e\x2a\x4d\x18\x03\0\0\0abc", 11};
  TemporaryFolder folder_;
};

TEST_F(PackedInput, IsReadAsItWas) {
  std::string input;
  for (int i = 0; i < 300; ++i)
    input +=
        "{\"prompt\": \"" + std::to_string(i * 7919) + std::string(600, 'a' + i % 26) + "\"}\n";
  input += "{\"prompt\": \"short\"}\n";
  const Asked plain = ask_file(input);
  EXPECT_EQ(plain.error, "");
  EXPECT_EQ(ask_file(gzip_member(input)).out, plain.out);
  EXPECT_EQ(ask_file(zstd_frame(input)).out, plain.out);
  const size_t half = input.find('\n', input.size() / 2);
  EXPECT_EQ(ask_file(gzip_member(input.substr(0, half)) + gzip_member(input.substr(half))).out,
            plain.out);
  EXPECT_EQ(ask_file(zstd_frame(input.substr(0, half)) + zstd_frame(input.substr(half))).out,
            plain.out);
}

TEST_F(PackedInput, MayHaveAnyForm) {
  const std::string line = "{\"prompt\": \"One\"}\n";
  const std::string once = ask_file(line).out, twice = ask_file(line + line).out;
  for (const int window_log : {17, 28, 31})
    EXPECT_EQ(ask_file(zstd_window_frame(line, window_log)).out, once) << window_log;
  const std::string skippable(kSkippableFrame), zstd = zstd_frame(line), gzip = gzip_member(line);
  EXPECT_EQ(ask_file(skippable + zstd).out, once);
  EXPECT_EQ(ask_file(zstd + skippable + zstd_frame("") + zstd + skippable).out, twice);
  EXPECT_EQ(ask_file(zstd_frame("")).error, "");
  EXPECT_EQ(ask_file(gzip + gzip_member("") + gzip).out, twice);
  for (const size_t n_zeros : {1, 512, 200000}) {  // the last block of a tape
    const Asked asked = ask_file(gzip + std::string(n_zeros, '\0'));
    EXPECT_EQ(asked.error, "") << n_zeros;
    EXPECT_EQ(asked.out, once) << n_zeros;
  }
}

TEST_F(PackedInput, OfAFormThatIsNotReadIsNamed) {
  const std::string line = "{\"prompt\": \"One\"}\n";
  EXPECT_EQ(
      ask_file(zstd_window_frame(line, 32)).error,
      "cannot read the input: the zstd data has a window of more than 2 GiB, the largest that "
      "is read (hint: compress it again with --long=31 or less)");
  const std::string with_dictionary("\x28\xb5\x2f\xfd\x01\x00\x07\x01\x00\x00", 10);
  EXPECT_EQ(ask_file(with_dictionary).error,
            "cannot read the input: the zstd data was compressed with a dictionary, expected data "
            "without one");
  std::string wrong = zstd_window_frame(line, 28);
  wrong.back() ^= 1;  // in the checksum
  EXPECT_NE(ask_file(wrong).error.find("the zstd data is corrupt: "), std::string::npos);
  EXPECT_NE(ask_file(gzip_member(line) + "more").error.find("the gzip data is corrupt: "),
            std::string::npos);
}

TEST_F(PackedInput, WhatIsBrokenIsSaid) {
  const std::string line = "{\"prompt\": \"One\"}\n", gzip = gzip_member(line),
                    zstd = zstd_frame(line);
  const auto cut_off = [](size_t n_bytes, const std::string& kind, const std::string& part) {
    return "the " + kind + " data is cut off: it ends after " + std::to_string(n_bytes) +
           " bytes, inside a " + part + " (hint: is the file complete?)";
  };
  EXPECT_EQ(ask_file(gzip.substr(0, gzip.size() - 3)).error,
            "cannot read the input after line 1: " + cut_off(gzip.size() - 3, "gzip", "member"));
  EXPECT_EQ(ask_file(zstd.substr(0, zstd.size() - 3)).error,
            "cannot read the input: " + cut_off(zstd.size() - 3, "zstd", "frame"));
  std::string wrong = gzip;
  wrong[gzip.size() - 6] ^= 1;  // of the checksum
  EXPECT_NE(ask_file(wrong).error.find("incorrect data check"), std::string::npos);
}

// The line in which it is cut is not at fault.
TEST_F(PackedInput, WhatIsCutOffBlamesNoLine) {
  std::string input;
  for (int i = 0; i < 600; ++i)
    input += "{\"prompt\": \"" + std::to_string(i * 7919 % 10007) + "\", \"max_tokens\": 1}\n";
  for (const std::string& packed : {gzip_member(input), zstd_frame(input)}) {
    for (const size_t part : {3, 2}) {
      const size_t n_bytes = packed.size() / part;
      const Asked asked = ask_file(packed.substr(0, n_bytes));
      EXPECT_EQ(asked.problems, Texts{});
      EXPECT_NE(asked.error.find("data is cut off: it ends after " + std::to_string(n_bytes)),
                std::string::npos)
          << asked.error;
    }
  }
}

BatchOptions table(InputFormat format = InputFormat::kCsv,
                   std::map<std::string, std::string> columns = {}) {
  BatchOptions options;
  options.format = format;
  options.columns = std::move(columns);
  return options;
}

TEST(Columns, AreTakenUnderOtherNames) {
  const std::string expected = ask("context,question\nC,Q\n", table()).out;
  EXPECT_EQ(
      ask("Doc,Q\nC,Q\n", table(InputFormat::kCsv, {{"question", "Q"}, {"context", "Doc"}})).out,
      expected);
  EXPECT_EQ(ask("question,context\nC,Q\n",  // each other's
                table(InputFormat::kCsv, {{"question", "context"}, {"context", "question"}}))
                .out,
            expected);
  EXPECT_EQ(ask("Doc,Q\nC,Q\n", table(InputFormat::kCsv, {{"question", "X"}})).error,
            "--columns names the column 'X', which does not exist; the columns are Doc, Q");
}

TEST(Columns, AreFieldsOfLinesToo) {
  BatchOptions options;
  options.columns = {{"question", "Q"}, {"context", "Doc"}};
  EXPECT_EQ(ask(R"({"Doc": "C", "Q": "Q"})", options).out,
            ask(R"({"context": "C", "question": "Q"})").out);
  EXPECT_EQ(ask(R"({"context": "C", "question": "Q"})", options).problems,
            (Texts{"--columns: no line has a field 'Doc'", "--columns: no line has a field 'Q'"}));
  EXPECT_EQ(
      ask("{\"context\": \"C\", \"question\": \"Q\"}\n{\"Doc\": \"C\", \"Q\": \"Q\"}\n", options)
          .problems,
      Texts{});
  EXPECT_EQ(ask("", options).problems, Texts{});
  EXPECT_EQ(ask(R"({"Doc": "C", "Q": "Q", "question": "R"})", options).problems,
            Texts{"line 1: field 'question' is present, but --columns reads it from 'Q' (hint: "
                  "--columns NAME=question gives the present field another name)"});
}

TEST(Columns, ThoseThatAreOptionsAreTold) {
  EXPECT_EQ(ask("prompt,n,seed\na,1,3\nb,1,4\n", table()).problems,
            Texts{"line 1: 'n', 'seed' are used as options of each row (hint: --columns NAME=n "
                  "makes it metadata)"});
  EXPECT_EQ(ask("prompt,n\na,1\n", table(InputFormat::kCsv, {{"number", "n"}})).problems, Texts{});
}

TEST(Columns, TablesOfOtherProgramsHaveARemedy) {
  EXPECT_EQ(ask("context;question\nC;Q\n", table()).error,
            "the columns are context;question, expected 'context' and 'question', or 'prompt', "
            "among them");
  EXPECT_EQ(ask(",prompt\n0,P\n", table()).error, "column 1 has no name");
  EXPECT_TRUE(ask(",prompt\n7,P\n", table(InputFormat::kCsv, {{"id", ""}}))
                  .out.starts_with("{\"id\":\"7\","));
}

// A quote here is no quote: facebookresearch/pytext#376.
TEST(Columns, ACellOverSeveralLinesOfATsvIsTold) {
  const std::string rows = "id\tprompt\n1\t\"To be\n2\tplain\n3\tor not\"\n4\tlast\n";
  EXPECT_EQ(ask(rows, table(InputFormat::kTsv)).problems,
            Texts{"line 2: a quoted cell joins this line and the next 2 lines into one row"});
  EXPECT_EQ(ask("id,prompt\n1,\"To be\nor not\"\n", table()).problems, Texts{})
      << "of a CSV it is meant";
}

TEST(References, ThatAreNoneOfTheChoicesAreTold) {
  EXPECT_EQ(ask(R"({"prompt": "P", "choices": ["A", "B"], "answers": ["E"]})").problems,
            Texts{"line 1: the reference 'E' is not one of the choices 'A', 'B'"});
  EXPECT_EQ(
      ask(R"({"context": "C", "choices": ["A", "B"], "questions": [{"text": "Q", "id": "q", "answers": ["a"]}]})")
          .problems,
      Texts{"line 1: question 'q': the reference 'a' is not one of the choices 'A', 'B'"});
  EXPECT_EQ(ask(R"({"prompt": "P", "choices": ["A", "B"], "answers": [" B", "E"]})").problems,
            Texts{});
}

}  // namespace
}  // namespace pando::testing
