#include "lab/data/demo.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/json.h"
#include "bench/tokens.h"
#include "pando/answer.h"

namespace pando::lab {
namespace {

namespace fs = std::filesystem;

fs::path beside_program(const std::string& path) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"..", "../share/pando"})
    if (fs::exists(program / place / path, error)) return fs::canonical(program / place / path);
  throw BenchmarkError(not_found("no {}, looked for in {} and {}", path,
                                 (program / "..").lexically_normal().string(),
                                 (program / "../share/pando").lexically_normal().string()));
}

}  // namespace

std::shared_ptr<const Model> demo_model(Harness& harness) {
  const fs::path& given = harness.settings().model;
  return harness.load(given.empty() ? beside_program("models/demo") : given, WeightType::kAsStored);
}

std::vector<QaDocument> demo_documents() {
  const fs::path path = beside_program("docs/demo/documents.jsonl");
  const std::string text = read_data(path);
  std::vector<QaDocument> documents;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto json = value_of(parse_json_object(text.substr(begin, end - begin), path.string()));
    begin = end + 1;
    try {
      QaDocument document{.text = json.at("context")};
      for (const auto& question : json.at("questions")) {
        document.questions.push_back(question.at("text"));
        document.answers.push_back(question.at("answers").at(0));
      }
      documents.push_back(std::move(document));
    } catch (const nlohmann::json::exception& error) {
      throw BenchmarkError(in_file(path.string(), bad_file("{}", error.what())));
    }
  }
  return documents;
}

std::vector<Request> demo_requests(const Model& model, const std::vector<QaDocument>& documents,
                                   int n_tokens, int repetition) {
  std::vector<Request> requests;
  for (const QaDocument& document : documents) {
    for (const std::string& question : document.questions) {
      requests.push_back(
          request_of(value_of(model.encode(render_prompt({}, document.text, question))), n_tokens));
      requests.back().sampling.ignore_eos = false;
      requests.back().isolation_key = static_cast<uint64_t>(repetition) + 1;
    }
  }
  return requests;
}

Scores scores_of(const std::vector<QaDocument>& documents, const Sample& sample) {
  ScoreTable scores;
  size_t i = 0;
  for (const QaDocument& document : documents)
    for (const std::string& answer : document.answers)
      scores.add(metrics_of(sample.completions[i++][0].text, std::vector{answer}), false);
  return scores.all();
}

double same_answers(const Sample& one, const Sample& other) {
  size_t n = 0;
  for (size_t i = 0; i < one.completions.size(); ++i)
    n += one.completions[i][0].tokens == other.completions[i][0].tokens;
  return 100.0 * static_cast<double>(n) / static_cast<double>(one.completions.size());
}

std::string invented_name(uint64_t number) {
  constexpr const char* kFirst[] = {"Br", "D", "F", "Gr", "K", "L", "M", "N", "Pl", "T", "V", "Z"};
  constexpr const char* kMiddle[] = {"a", "e", "i", "o", "u"};
  constexpr const char* kLast[] = {"ko", "lin", "mar", "neth", "pu", "rid", "sk", "tel", "vo"};
  std::string name = kFirst[number % std::size(kFirst)];
  number /= std::size(kFirst);
  name += kMiddle[number % std::size(kMiddle)];
  number /= std::size(kMiddle);
  name += kLast[number % std::size(kLast)];
  for (number /= std::size(kLast); number > 0; number /= std::size(kLast))
    name += kLast[number % std::size(kLast)];
  return name;
}

std::string dog_color(uint64_t number) {
  constexpr const char* kColors[] = {"red",   "blue",  "green", "black", "white",
                                     "brown", "amber", "grey",  "pink",  "purple"};
  return kColors[number * 7 / 3 % std::size(kColors)];
}

std::string dog_fact(uint64_t number) {
  return fmt::format("The dog named {} has fur that is {}.", invented_name(number),
                     dog_color(number));
}

std::string dog_question(uint64_t number) {
  return fmt::format("What color is the fur of the dog named {}?", invented_name(number));
}

std::vector<std::string> demo_filler(size_t n) {
  constexpr const char* kWork[] = {"tailor", "baker", "doctor", "teacher", "farmer", "painter"};
  constexpr uint64_t kOthers = 1'000'000;  // names that no dog has
  std::vector<std::string> lines;
  for (uint64_t i = 0; i < n; ++i)
    lines.push_back(i % 2 == 0 ? fmt::format("{} works as a {}.", invented_name(kOthers + i * 37),
                                             kWork[i / 2 % std::size(kWork)])
                               : fmt::format("The city of {} lies on the river {}.",
                                             invented_name(kOthers + i * 41),
                                             invented_name(2 * kOthers + i * 43)));
  return lines;
}

std::vector<QaDocument> needle_documents(const Model& model, const std::vector<std::string>& filler,
                                         int n_documents, int n_tokens, int n_facts) {
  std::vector<QaDocument> documents;
  size_t line = 0;
  for (int d = 0; d < n_documents; ++d) {
    std::vector<std::string> facts;
    size_t n_left = static_cast<size_t>(n_tokens);
    QaDocument document;
    for (int i = 0; i < n_facts; ++i) {
      const auto number = static_cast<uint64_t>(d * n_facts + i) * 11 + 3;
      facts.push_back(dog_fact(number));
      n_left -= std::min(n_left, value_of(model.encode(" " + facts.back(), false)).size());
      if (i % 2 == 1) continue;
      document.questions.push_back(dog_question(number));
      document.answers.push_back(dog_color(number));
    }
    // The other lines, as many as fit, and the facts evenly among them.
    std::vector<std::string> others;
    for (;; ++line) {
      const std::string& text = filler[line % filler.size()];
      const size_t n = value_of(model.encode(" " + text, false)).size();
      if (n > n_left) break;
      n_left -= n;
      others.push_back(text);
    }
    size_t next = 0;
    for (size_t i = 0; i < facts.size(); ++i) {
      for (; next < (i + 1) * others.size() / (facts.size() + 1); ++next)
        document.text += others[next] + " ";
      document.text += facts[i] + " ";
    }
    for (; next < others.size(); ++next) document.text += others[next] + " ";
    document.text.pop_back();
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace pando::lab
