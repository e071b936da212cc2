// How likely a model finds texts: possible answers behind one prefix, and a text as a whole.
// usage: score MODEL
#include "pando/score.h"

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: score MODEL\n"), 2;
  const auto model = pando::Model::load(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message().c_str()), 1;
  auto engine = pando::Engine::open(*model);
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message().c_str()), 1;

  const std::string context = "Velina works as a tailor.";
  const std::vector<std::string> answers = {" tailor", " baker", " null"};
  const auto scores = pando::score(
      **engine, context + "\n\nQuestion: What is the profession of Velina?\nAnswer:", answers);
  if (!scores) return std::fprintf(stderr, "%s\n", scores.error().message().c_str()), 1;
  for (size_t i = 0; i < answers.size(); ++i)
    std::printf("%-8s ln p %8.3f in %d tokens%s\n", answers[i].c_str(), (*scores)[i].logprob,
                (*scores)[i].n_tokens, (*scores)[i].likeliest ? ", the greedy answer" : "");

  const auto text = pando::perplexity(**engine, context);
  if (!text) return std::fprintf(stderr, "%s\n", text.error().message().c_str()), 1;
  std::printf("perplexity of '%s': %.1f\n", context.c_str(), text->perplexity());
}
