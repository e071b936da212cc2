// A program with threads of its own: all ask one engine, and what their prompts share is computed
// once. usage: threads MODEL
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "pando/answer.h"

namespace {

const std::string kDocument =
    "The dog named Brako has fur that is green. Velina works as a tailor. The city of Drosk lies "
    "on "
    "the river Trael. The Mofti lamp costs $12.40.";
const std::vector<std::string> kQuestions = {
    "What is the profession of Velina?", "What does the Mofti lamp cost?",
    "On which river lies the city of Drosk?", "What is the colour of the dog named Brako?"};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: threads MODEL\n"), 2;
  const auto model = pando::Model::load(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message().c_str()), 1;
  // Of an engine's options, `threads` is how many it computes with; how many ask does not matter.
  auto engine = pando::Engine::open(*model, {.threads = 2, .kv_memory = size_t{256} << 20});
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message().c_str()), 1;

  std::vector<std::string> answers(kQuestions.size());
  std::vector<std::thread> askers;
  for (size_t i = 0; i < kQuestions.size(); ++i)
    askers.emplace_back([&, i] {
      const auto answer = pando::answer(**engine, kDocument, {kQuestions[i]});
      answers[i] = answer ? (*answer)[0][0].text : " failed: " + answer.error().message();
    });
  for (std::thread& asker : askers) asker.join();

  for (size_t i = 0; i < kQuestions.size(); ++i)
    std::printf("%s%s\n", kQuestions[i].c_str(), answers[i].c_str());
  const pando::EngineStats stats = (*engine)->stats();
  std::printf("prompts of %llu tokens, %llu of them computed\n",
              static_cast<unsigned long long>(stats.prompt_tokens),
              static_cast<unsigned long long>(stats.prefill_rows));
}
