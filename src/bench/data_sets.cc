#include "bench/data_sets.h"

#include <fmt/format.h>
#include <zlib.h>

#include <memory>
#include <string_view>

#include "base/errors.h"
#include "base/json.h"

namespace pando::bench {
namespace {

using Json = nlohmann::json;

// A record of a file, or a part of one; `source` is for messages.
struct Record {
  Json json;
  std::string source;
};

[[noreturn]] void refuse(const std::string& source, const char* name, const Json* found,
                         const char* expected) {
  throw BenchmarkError(bad_file("{}: '{}' is {}, expected {}", source, name,
                                found == nullptr ? "not there" : found_text(*found), expected));
}

const Json& field(const Json& object, const std::string& source, const char* name,
                  bool (Json::*is)() const noexcept, const char* expected) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) refuse(source, name, nullptr, expected);
  if (!((*found).*is)()) refuse(source, name, &*found, expected);
  return *found;
}

std::string text_in(const Json& object, const std::string& source, const char* name) {
  return field(object, source, name, &Json::is_string, "a text");
}

const Json& list_in(const Json& object, const std::string& source, const char* name) {
  return field(object, source, name, &Json::is_array, "a list");
}

std::string line_text(const Json& value, const std::string& source, const char* name) {
  if (!value.is_string()) refuse(source, name, &value, "a list of texts");
  return value;
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
  if (records.empty()) throw BenchmarkError(bad_file("{} has no line of JSON", path.string()));
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

std::vector<QaDocument> squad_documents(const Lab& lab) {
  const std::filesystem::path path = lab.data("squad-v2.0-dev-part1.json.gz");
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
  return documents;
}

std::vector<QaDocument> race_documents(const Lab& lab) {
  std::vector<QaDocument> documents;
  for (const auto& [json, source] : read_records(lab.data("race-test.jsonl.gz"))) {
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
  return documents;
}

std::vector<QaDocument> fairytale_documents(const Lab& lab) {
  std::vector<QaDocument> documents;
  for (const auto& [json, source] : read_records(lab.data("fairytaleqa-train.jsonl.gz"))) {
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
  return documents;
}

std::vector<std::string> mmlu_questions(const Lab& lab) {
  std::vector<std::string> texts;
  for (const auto& [json, source] : read_records(lab.data("mmlu-test.jsonl.gz")))
    texts.push_back(text_in(json, source, "question"));
  return texts;
}

std::vector<std::string> alpaca_texts(const Lab& lab) {
  std::vector<std::string> texts;
  for (const auto& [json, source] : read_records(lab.data("alpaca-en-demo.jsonl"))) {
    const std::string instruction = text_in(json, source, "instruction");
    const std::string input = text_in(json, source, "input");
    std::string text = "Below is an instruction that describes a task";
    text += input.empty() ? "." : ", paired with an input that provides further context.";
    text += " Write a response that appropriately completes the request.\n\n### Instruction:\n";
    text += instruction;
    if (!input.empty()) text += "\n\n### Input:\n" + input;
    texts.push_back(text + "\n\n### Response:\n" + text_in(json, source, "output"));
  }
  return texts;
}

std::vector<std::string> wikitext_paragraphs(const Lab& lab) {
  std::vector<std::string> texts;
  const std::string file = read_data(lab.data("wikitext-2-test.txt"));
  for (const std::string_view line : lines_of(file))
    if (line.find_first_not_of(" \r") != std::string_view::npos) texts.emplace_back(line);
  return texts;
}

std::string war_and_peace(const Lab& lab) { return read_data(lab.data("war-and-peace.txt")); }

std::vector<TrecQuery> trec_queries(const Lab& lab, int year) {
  std::vector<TrecQuery> queries;
  const std::string name = fmt::format("trec-dl{}-bm25-top100.jsonl.gz", year);
  for (const auto& [json, source] : read_records(lab.data(name))) {
    TrecQuery query{.query = text_in(json, source, "query")};
    for (const Json& hit : list_in(json, source, "hits"))
      query.passages.push_back(text_in(hit, source, "content"));
    queries.push_back(std::move(query));
  }
  return queries;
}

std::vector<Problem> mbpp_problems(const Lab& lab) {
  std::vector<Problem> problems;
  for (const auto& [json, source] : read_records(lab.data("mbpp-1-600.jsonl"))) {
    const Json& tests = list_in(json, source, "test_list");
    if (tests.empty()) refuse(source, "test_list", &tests, "a test at least");
    problems.push_back({fmt::format("{}\n{}", text_in(json, source, "text"),
                                    line_text(tests[0], source, "test_list")),
                        text_in(json, source, "code")});
  }
  return problems;
}

}  // namespace pando::bench
