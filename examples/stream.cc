// An answer is shown while it is being written.
// usage: stream MODEL
#include "pando/stream.h"

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: stream MODEL\n"), 2;
  const auto model = pando::Model::load(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message().c_str()), 1;
  auto engine = pando::Engine::open(*model);
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message().c_str()), 1;

  pando::Request request;
  request.prompt =
      "The Mofti lamp costs $12.40.\n\nQuestion: What does the Mofti lamp cost?\nAnswer:";
  auto stream = pando::Stream::open(**engine, request);
  if (!stream) return std::fprintf(stderr, "%s\n", stream.error().message().c_str()), 1;
  while (const auto event = stream->next()) {
    if (event->error) return std::fprintf(stderr, "%s\n", event->error->message().c_str()), 1;
    std::printf("%s", event->text.c_str());
    std::fflush(stdout);
    if (event->completion)
      std::printf("\n(%zu tokens behind a prompt of %d)\n", event->completion->tokens.size(),
                  event->completion->prompt_tokens);
  }
}
