// A request with a listener is dropped when enough has been heard; the engine goes on.
// usage: cancel MODEL
#include <cstdio>
#include <future>

#include "pando/answer.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: cancel MODEL\n"), 2;
  const auto model = pando::Model::load(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message().c_str()), 1;
  std::promise<void> heard;  // outlives the engine, whose thread calls the listener
  int n_heard = 0;           // touched by that thread alone
  auto engine = pando::Engine::open(*model);
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message().c_str()), 1;

  pando::Request request;
  request.prompt = "Velina works as";
  request.sampling = {.max_tokens = 400, .temperature = 1, .n = 64, .ignore_eos = true};
  const auto id = (*engine)->submit(request, [&](const pando::Event&) {
    if (++n_heard == 10) heard.set_value();
  });
  if (!id) return std::fprintf(stderr, "%s\n", id.error().message().c_str()), 1;
  heard.get_future().wait();
  (*engine)->cancel(*id);
  std::puts("cancelled");

  const auto answers =
      pando::answer(**engine, "Velina works as a tailor.", {"What is the profession of Velina?"});
  if (!answers) return std::fprintf(stderr, "%s\n", answers.error().message().c_str()), 1;
  std::printf("then:%s\n", (*answers)[0][0].text.c_str());
}
