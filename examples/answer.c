/* Questions about one text, from C: shown while they are answered, and once more at the end.
   usage: answer_c MODEL */
#include <stdio.h>

#include "pando.h"

static int fail(void) {
  fprintf(stderr, "%s\n", pando_last_error());
  return 1;
}

int main(int argc, char** argv) {
  const char* const questions[] = {"What is the profession of Velina?",
                                   "What does the Mofti lamp cost?"};
  pando_model* model = NULL;
  pando_engine* engine = NULL;
  pando_stream* stream = NULL;
  pando_event event;
  pando_status status;
  if (argc != 2) return fprintf(stderr, "usage: answer_c MODEL\n"), 2;
  if (pando_model_load(argv[1], NULL, &model)) return fail();
  if (pando_engine_open(model, "{\"threads\": 2}", &engine)) return fail();
  if (pando_ask(engine, "Velina works as a tailor. The Mofti lamp costs $12.40.", questions, 2,
                "{\"max_tokens\": 16}", &stream))
    return fail();
  while ((status = pando_next(stream, -1, &event)) == PANDO_OK)
    printf("question %zu goes on with '%s'\n", event.question, event.text);
  if (status != PANDO_END) return fail();
  for (size_t i = 0; i < 2; ++i)
    printf("%s%s\n", questions[i], pando_completion_of(stream, i, 0)->text);
  pando_stream_free(stream);
  pando_engine_free(engine);
  pando_model_free(model);
  return 0;
}
