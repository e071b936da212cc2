// A program of someone else's, built against an installed Pando.
#include <cstdio>

#include "pando/answer.h"
#include "pando/version.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto model = pando::Model::load(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 1;
  auto engine = pando::Engine::open(*model, {.threads = 1, .kv_memory = 64 << 20});
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message.c_str()), 1;
  const auto answers = pando::answer(**engine, "Velina works as a tailor.",
                                     {"What is the profession of Velina?"});
  if (!answers) return std::fprintf(stderr, "%s\n", answers.error().message.c_str()), 1;
  std::printf("%s:%s\n", pando::version(), (*answers)[0][0].text.c_str());
}
