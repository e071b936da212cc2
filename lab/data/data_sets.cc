#include "lab/data/data_sets.h"

#include <fmt/format.h>
#include <zlib.h>

#include <memory>
#include <string_view>

#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"
#include "lab/data/file_names.h"

namespace pando::lab {
namespace {

// A record of a file, or a part of one; `source` is for messages.
struct Record {
  Json json;
  std::string source;
};

[[noreturn]] void refuse(const std::string& source, const char* name, const Json* found,
                         const char* expected) {
  throw BenchmarkError(
      in_file(source, bad_file("'{}' is {}, expected {}", name,
                               found == nullptr ? "missing" : found_text(*found), expected)));
}

const Json& field(const Json& object, const std::string& source, const char* name,
                  bool (Json::*is)() const noexcept, const char* expected) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) refuse(source, name, nullptr, expected);
  if (!((*found).*is)()) refuse(source, name, &*found, expected);
  return *found;
}

std::string text_in(const Json& object, const std::string& source, const char* name) {
  return field(object, source, name, &Json::is_string, "a string");
}

const Json& list_in(const Json& object, const std::string& source, const char* name) {
  return field(object, source, name, &Json::is_array, "a list");
}

std::string line_text(const Json& value, const std::string& source, const char* name) {
  if (!value.is_string()) refuse(source, name, &value, "a list of strings");
  return value;
}

// A file with fewer would be measured as if it were the published one.
void expect_at_least(const std::filesystem::path& path, size_t expected, size_t found,
                     const char* what) {
  if (found < expected)
    throw BenchmarkError(
        bad_file("{} has {}, expected at least {}", path.string(), counted(found, what), expected));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<Record> read_records(const std::filesystem::path& path) {
  const std::string text = read_data(path);
  std::vector<Record> records;
  size_t n = 0;
  for (const std::string_view line : lines_of(text)) {
    const std::string source = fmt::format("{}, line {}", path.string(), ++n);
    if (!line.empty()) records.push_back({value_of(parse_json_object(line, source)), source});
  }
  if (records.empty()) throw BenchmarkError(bad_file("{} has no line with JSON", path.string()));
  return records;
}

}  // namespace

std::string read_data(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose_r);
  if (!file) throw BenchmarkError(not_found("cannot open {}", path.string()));
  std::string text;
  char part[1 << 16];
  for (int n = 0; (n = gzread(file.get(), part, sizeof part)) != 0;) {
    if (n < 0) break;
    text.append(part, static_cast<size_t>(n));
  }
  int code = Z_OK;
  const char* message = gzerror(file.get(), &code);
  if (code != Z_OK)  // also of a file that ends too soon
    throw BenchmarkError(bad_file("{} cannot be unpacked: {}", path.string(), message));
  return text;
}

std::vector<QaDocument> squad_documents(const Harness& harness) {
  const std::filesystem::path path = harness.data(kSquad);
  const std::string source = path.string();
  const Json file = value_of(parse_json_object(read_data(path), source));
  std::vector<QaDocument> documents;
  for (const Json& article : list_in(file, source, "data")) {
    for (const Json& paragraph : list_in(article, source, "paragraphs")) {
      QaDocument document{.text = text_in(paragraph, source, "context")};
      for (const Json& qa : list_in(paragraph, source, "qas")) {
        document.questions.push_back(text_in(qa, source, "question"));
        const Json& answers = list_in(qa, source, "answers");
        document.answers.push_back(answers.empty() ? "null" : text_in(answers[0], source, "text"));
      }
      documents.push_back(std::move(document));
    }
  }
  expect_at_least(path, 646, documents.size(), "paragraphs");
  return documents;
}

std::vector<QaDocument> race_documents(const Harness& harness) {
  const std::filesystem::path path = harness.data(kRace);
  std::vector<QaDocument> documents;
  for (const auto& [json, source] : read_records(path)) {
    QaDocument document{.text = text_in(json, source, "article")};
    const Json& questions = list_in(json, source, "questions");
    const Json& options = list_in(json, source, "options");
    const Json& answers = list_in(json, source, "answers");
    if (options.size() != questions.size() || answers.size() != questions.size())
      refuse(source, "options", &options, "as many as there are questions and answers");
    for (size_t i = 0; i < questions.size(); ++i) {
      std::string question = line_text(questions[i], source, "questions");
      char letter = 'A';
      for (const Json& option : options[i])
        question += fmt::format("\n{}. {}", letter++, line_text(option, source, "options"));
      document.questions.push_back(std::move(question));
      document.answers.push_back(line_text(answers[i], source, "answers"));
    }
    documents.push_back(std::move(document));
  }
  expect_at_least(path, 1407, documents.size(), "articles");
  return documents;
}

std::vector<QaDocument> fairytale_documents(const Harness& harness) {
  const std::filesystem::path path = harness.data(kFairytales);
  std::vector<QaDocument> documents;
  for (const auto& [json, source] : read_records(path)) {
    QaDocument document;
    for (const Json& section : list_in(json, source, "sections"))
      document.text += text_in(section, source, "text") + "\n";
    for (const Json& question : list_in(json, source, "questions")) {
      document.questions.push_back(text_in(question, source, "question"));
      const Json& answers = list_in(question, source, "answers");
      document.answers.push_back(answers.empty() ? "" : line_text(answers[0], source, "answers"));
    }
    documents.push_back(std::move(document));
  }
  expect_at_least(path, 232, documents.size(), "stories");
  return documents;
}

std::vector<std::string> mmlu_questions(const Harness& harness) {
  const std::filesystem::path path = harness.data(kMmlu);
  std::vector<std::string> texts;
  for (const auto& [json, source] : read_records(path))
    texts.push_back(text_in(json, source, "question"));
  expect_at_least(path, 12289, texts.size(), "questions");
  return texts;
}

std::vector<std::string> alpaca_texts(const Harness& harness) {
  const std::filesystem::path path = harness.data(kAlpaca);
  std::vector<std::string> texts;
  for (const auto& [json, source] : read_records(path)) {
    const std::string instruction = text_in(json, source, "instruction");
    const std::string input = text_in(json, source, "input");
    std::string text = "Below is an instruction that describes a task";
    text += input.empty() ? "." : ", paired with an input that provides further context.";
    text += " Write a response that appropriately completes the request.\n\n### Instruction:\n";
    text += instruction;
    if (!input.empty()) text += "\n\n### Input:\n" + input;
    texts.push_back(text + "\n\n### Response:\n" + text_in(json, source, "output"));
  }
  expect_at_least(path, 800, texts.size(), "instructions");
  return texts;
}

std::vector<std::string> wikitext_paragraphs(const Harness& harness) {
  const std::filesystem::path path = harness.data(kWikitext);
  std::vector<std::string> texts;
  const std::string file = read_data(path);
  for (const std::string_view line : lines_of(file))
    if (line.find_first_not_of(" \r") != std::string_view::npos) texts.emplace_back(line);
  expect_at_least(path, 2891, texts.size(), "paragraphs");
  return texts;
}

std::string war_and_peace(const Harness& harness) {
  const std::filesystem::path path = harness.data(kWarAndPeace);
  std::string text = read_data(path);
  expect_at_least(path, 3'000'000, text.size(), "bytes");
  return text;
}

std::vector<TrecQuery> trec_queries(const Harness& harness, int year) {
  std::vector<TrecQuery> queries;
  const std::filesystem::path path =
      harness.data(fmt::format("trec-dl{}-bm25-top100.jsonl.gz", year));
  for (const auto& [json, source] : read_records(path)) {
    TrecQuery query{.query = text_in(json, source, "query")};
    const Json& hits = list_in(json, source, "hits");
    if (hits.size() < 100)
      throw BenchmarkError(
          in_file(source, bad_file("'hits' has {} passages, expected 100", hits.size())));
    for (const Json& hit : hits) query.passages.push_back(text_in(hit, source, "content"));
    queries.push_back(std::move(query));
  }
  expect_at_least(path, year == 19 ? 43 : 54, queries.size(), "queries");
  return queries;
}

std::vector<Problem> mbpp_problems(const Harness& harness) {
  const std::filesystem::path path = harness.data(kMbpp);
  std::vector<Problem> problems;
  for (const auto& [json, source] : read_records(path)) {
    const Json& tests = list_in(json, source, "test_list");
    if (tests.empty()) refuse(source, "test_list", &tests, "at least one test");
    problems.push_back({fmt::format("{}\n{}", text_in(json, source, "text"),
                                    line_text(tests[0], source, "test_list")),
                        text_in(json, source, "code")});
  }
  expect_at_least(path, 600, problems.size(), "problems");
  return problems;
}

}  // namespace pando::lab
