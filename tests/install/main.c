// A C program of someone else's, built against an installed Pando.
#include <stdio.h>

#include "pando.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* question = "What is the profession of Velina?";
  pando_model* model = NULL;
  pando_engine* engine = NULL;
  pando_stream* stream = NULL;
  if (pando_model_load(argv[1], NULL, &model) || pando_engine_open(model, NULL, &engine) ||
      pando_ask(engine, "Velina works as a tailor.", &question, 1, NULL, &stream) ||
      pando_wait(stream, -1)) {
    fprintf(stderr, "%s\n", pando_last_error());
    return 1;
  }
  printf("%s:%s\n", pando_version(), pando_completion_of(stream, 0, 0)->text);
  pando_stream_free(stream);
  pando_engine_free(engine);
  pando_model_free(model);
  return 0;
}
