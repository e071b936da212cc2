// Questions about one text, answered together: the text is computed once.
// usage: answer MODEL
#include "pando/answer.h"

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: answer MODEL\n"), 2;
  const auto model = pando::Model::load(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message().c_str()), 1;
  auto engine = pando::Engine::open(*model);
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message().c_str()), 1;

  const std::vector<std::string> questions = {"What is the profession of Velina?",
                                              "What does the Mofti lamp cost?"};
  pando::AnswerOptions options;
  options.sampling.max_tokens = 16;
  const auto answers = pando::answer(
      **engine, "Velina works as a tailor. The Mofti lamp costs $12.40.", questions, options);
  if (!answers) return std::fprintf(stderr, "%s\n", answers.error().message().c_str()), 1;
  for (size_t i = 0; i < questions.size(); ++i)
    std::printf("%s%s\n", questions[i].c_str(), (*answers)[i][0].text.c_str());
}
