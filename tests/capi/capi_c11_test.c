// pando.h as a C11 program uses it. usage: capi_c11_test MODEL
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pando.h"

static void check(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "line %d: %s; last error: %s\n", line, what, pando_last_error());
  exit(1);
}
#define CHECK(condition) check((condition) ? 1 : 0, #condition, __LINE__)

static const char* const kContext =
    "The dog named Brako has fur that is green. Velina works as a tailor. The Mofti lamp costs "
    "$12.40.";
static const char* const kQuestions[] = {"What is the profession of Velina?",
                                         "What does the Mofti lamp cost?"};

static void test_options(pando_engine* engine) {
  const char* table = pando_request_options();
  CHECK(table != NULL && table == pando_request_options());
  CHECK(strncmp(table, "[{\"name\":\"max_tokens\",\"type\":\"integer\"", 38) == 0);
  CHECK(strstr(table,
               "{\"name\":\"min_p\",\"type\":\"number\",\"help\":\"Only tokens at least p times as "
               "likely as the likeliest\",\"default\":0.0,\"minimum\":0.0,\"maximum\":1.0,"
               "\"expected\":\"0 to 1\"}") != NULL);
  pando_stream* stream = NULL;
  CHECK(pando_prompt(engine, "P", "{\"min_p\": 2}", &stream) == PANDO_OK);
  CHECK(pando_wait(stream, 60) == PANDO_INVALID_ARGUMENT);
  CHECK(strcmp(pando_last_error(), "min_p is 2, expected 0 to 1") == 0);
  pando_stream_free(stream);
}

static void test_min_tokens(pando_engine* engine) {
  pando_stream* stream = NULL;
  CHECK(pando_ask(engine, kContext, kQuestions, 1, "{\"max_tokens\": 12, \"min_tokens\": 8}",
                  &stream) == PANDO_OK);
  CHECK(pando_wait(stream, 60) == PANDO_OK);
  const pando_completion* answer = pando_completion_of(stream, 0, 0);
  CHECK(answer != NULL && answer->n_tokens >= 8 && strncmp(answer->text, " tailor", 7) == 0);
  pando_stream_free(stream);
}

static void test_answers(pando_engine* engine) {
  pando_stream* stream = NULL;
  CHECK(pando_ask(engine, kContext, kQuestions, 2, "{\"max_tokens\": 20, \"logprobs\": true}",
                  &stream) == PANDO_OK);
  CHECK(pando_completion_of(stream, 0, 0) == NULL);
  CHECK(pando_wait(stream, 60) == PANDO_OK);
  const pando_completion* first = pando_completion_of(stream, 0, 0);
  const pando_completion* second = pando_completion_of(stream, 1, 0);
  CHECK(first != NULL && strcmp(first->text, " tailor") == 0 && first->text_size == 7);
  CHECK(second != NULL && strcmp(second->text, " $12.40") == 0);
  CHECK(strcmp(first->finish_reason, "stop") == 0);
  CHECK(first->n_tokens > 0 && first->logprobs != NULL && first->logprobs[0] <= 0);
  CHECK(first->prompt_tokens > 10 && first->n_prompt_scored == 0);
  CHECK(first->prompt_logprobs == NULL && first->logits_hash == 0);
  CHECK(pando_completion_of(stream, 2, 0) == NULL && pando_completion_of(stream, 0, 1) == NULL);
  pando_event event;
  CHECK(pando_next(stream, 0, &event) == PANDO_END);
  pando_stream_free(stream);
}

static void test_stream(pando_engine* engine) {
  pando_stream* stream = NULL;
  CHECK(pando_ask(engine, kContext, kQuestions, 2, NULL, &stream) == PANDO_OK);
  char texts[2][64] = {"", ""};
  int n_complete = 0;
  pando_event event;
  pando_status status;
  while ((status = pando_next(stream, -1, &event)) == PANDO_OK) {
    CHECK(event.question < 2 && event.choice == 0);
    strncat(texts[event.question], event.text, 32);
    if (event.completion == NULL) continue;
    ++n_complete;
    CHECK(strcmp(texts[event.question], event.completion->text) == 0);
  }
  CHECK(status == PANDO_END && n_complete == 2);
  pando_stream_free(stream);
}

static void test_tokens(pando_engine* engine, const pando_model* model) {
  int32_t tokens[64];
  size_t n = 0, size = 0;
  CHECK(pando_encode(model, kContext, strlen(kContext), 1, tokens, 2, &n) == PANDO_OK);
  CHECK(n > 10 && n <= 64);
  CHECK(pando_encode(model, kContext, strlen(kContext), 1, tokens, 64, &n) == PANDO_OK);
  char text[256] = "";
  CHECK(pando_decode(model, tokens, n, text, sizeof text - 1, &size) == PANDO_OK);
  CHECK(size == strlen(kContext) && strcmp(text, kContext) == 0);
  CHECK(pando_sampling_defaults(model, text, sizeof text, &size) == PANDO_OK);
  CHECK(size == 19 && memcmp(text, "{\"temperature\":0", 16) == 0);

  pando_stream* stream = NULL;
  CHECK(pando_prompt_tokens(engine, tokens, n,
                            "{\"max_tokens\": 3, \"prompt_logprobs\": true, \"top_logprobs\": 4}",
                            &stream) == PANDO_OK);
  CHECK(pando_wait(stream, 60) == PANDO_OK);
  const pando_completion* completion = pando_completion_of(stream, 0, 0);
  CHECK(completion->prompt_tokens == n && completion->n_prompt_scored == n - 1);
  CHECK(completion->n_top == 4);
  for (size_t i = 0; i + 1 < n; ++i) {
    CHECK(completion->prompt_scored[i] == tokens[i + 1]);
    const int is_top = completion->prompt_top_tokens[4 * i] == tokens[i + 1];
    CHECK(is_top == completion->prompt_likeliest[i]);
    CHECK(completion->prompt_top_logprobs[4 * i] >= completion->prompt_logprobs[i]);
  }
  pando_stream_free(stream);
}

static void test_score(pando_engine* engine) {
  const char* const prefix =
      "Velina works as a tailor.\n\nQuestion: What is the profession of Velina?\nAnswer:";
  const char* const continuations[] = {" tailor", " baker"};
  pando_stream* stream = NULL;
  CHECK(pando_score(engine, prefix, continuations, 2, &stream) == PANDO_OK);
  CHECK(pando_wait(stream, 60) == PANDO_OK);
  double logprobs[2] = {0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const pando_completion* scored = pando_completion_of(stream, i, 0);
    CHECK(scored->n_prompt_scored > 0 && scored->n_tokens == 0);
    for (size_t j = 0; j < scored->n_prompt_scored; ++j) logprobs[i] += scored->prompt_logprobs[j];
  }
  CHECK(isfinite(logprobs[1]) && logprobs[0] > logprobs[1]);
  pando_stream_free(stream);
}

static void test_choices(pando_engine* engine) {
  pando_stream* stream = NULL;
  CHECK(pando_ask(engine, kContext, kQuestions, 1, "{\"choices\": [\"baker\", \"tailor\"]}",
                  &stream) == PANDO_OK);
  CHECK(pando_wait(stream, 60) == PANDO_OK);
  const pando_completion* answer = pando_completion_of(stream, 0, 0);
  CHECK(strcmp(answer->text, "tailor") == 0 && answer->n_choices == 2);
  CHECK(answer->choice_logprobs[1] > answer->choice_logprobs[0]);
  pando_stream_free(stream);
}

static void test_errors(pando_engine* engine, const char* path) {
  pando_model* model = NULL;
  CHECK(pando_model_load("no/such/model", NULL, &model) == PANDO_NOT_FOUND && model == NULL);
  CHECK(strstr(pando_last_error(), "no/such/model") != NULL);
  CHECK(pando_model_load(path, "{\"weights\": \"q3\"}", &model) == PANDO_INVALID_ARGUMENT);
  CHECK(strstr(pando_last_error(), "'weights' is \"q3\"") != NULL);
  CHECK(pando_model_load(NULL, NULL, &model) == PANDO_INVALID_ARGUMENT);

  pando_stream* stream = NULL;
  CHECK(pando_prompt(engine, "a", "{\"max_token\": 3}", &stream) == PANDO_INVALID_ARGUMENT);
  CHECK(strstr(pando_last_error(), "'max_token' is unknown") != NULL);
  CHECK(pando_prompt(engine, "a", "{", &stream) == PANDO_INVALID_ARGUMENT);
  CHECK(pando_prompt(engine, "a", "[]", &stream) == PANDO_INVALID_ARGUMENT);
  CHECK(pando_prompt(NULL, "a", NULL, &stream) == PANDO_INVALID_ARGUMENT);
  CHECK(pando_ask(engine, "a", NULL, 1, NULL, &stream) == PANDO_INVALID_ARGUMENT);
  CHECK(pando_ask(engine, "a", kQuestions, 0, NULL, &stream) == PANDO_INVALID_ARGUMENT);
  CHECK(pando_ask(engine, "a", kQuestions, 1, "{\"answers\": [\"b\"]}", &stream) ==
        PANDO_INVALID_ARGUMENT);
  CHECK(pando_prompt(engine, "a", "{\"id\": []}", &stream) == PANDO_INVALID_ARGUMENT);
  CHECK(stream == NULL);
  CHECK(pando_prompt(engine, "a", "{\"id\": null, \"max_tokens\": 1}", &stream) == PANDO_OK);
  pando_stream_free(stream);
  // The stream says again and again what only the engine refuses.
  CHECK(pando_prompt(engine, "a", "{\"top_p\": 2}", &stream) == PANDO_OK);
  CHECK(pando_wait(stream, -1) == PANDO_INVALID_ARGUMENT);
  CHECK(strstr(pando_last_error(), "top_p is 2") != NULL);
  CHECK(pando_wait(stream, -1) == PANDO_INVALID_ARGUMENT);
  pando_stream_free(stream);
  CHECK(pando_prompt(engine, "\xff\xfe", NULL, &stream) == PANDO_OK);
  CHECK(pando_wait(stream, -1) == PANDO_INVALID_ARGUMENT);
  pando_stream_free(stream);
  CHECK(strcmp(pando_status_name(PANDO_TOO_LONG), "too_long") == 0);
  CHECK(strcmp(pando_status_name(PANDO_CANCELLED), "cancelled") == 0);
}

// Takes a minute.
static const char* const kLong =
    "{\"max_tokens\": 400, \"ignore_eos\": true, \"n\": 4000, \"temperature\": 1}";

static void* cancel_it(void* stream) {
  pando_cancel(stream);
  return NULL;
}

static void test_cancel(pando_engine* engine) {
  pando_stream* stream = NULL;
  CHECK(pando_prompt(engine, "Velina", kLong, &stream) == PANDO_OK);
  CHECK(pando_wait(stream, 0.05) == PANDO_TIMEOUT);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, cancel_it, stream) == 0);
  CHECK(pando_wait(stream, -1) == PANDO_CANCELLED);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pando_wait(stream, -1) == PANDO_CANCELLED);
  pando_stream_free(stream);
}

static void test_order_of_freeing(const pando_model* model) {
  pando_engine* engine = NULL;
  CHECK(pando_engine_open(model, "{\"threads\": 1, \"kv_memory\": 67108864}", &engine) == PANDO_OK);
  pando_stream *stream = NULL, *dropped = NULL;
  CHECK(pando_ask(engine, kContext, kQuestions, 2, NULL, &stream) == PANDO_OK);
  CHECK(pando_prompt(engine, "Velina", kLong, &dropped) == PANDO_OK);
  CHECK(pando_wait(dropped, 0) == PANDO_TIMEOUT);
  pando_engine_free(engine);
  pando_stream_free(dropped);
  CHECK(pando_wait(stream, 60) == PANDO_OK);
  CHECK(strcmp(pando_completion_of(stream, 0, 0)->text, " tailor") == 0);
  pando_stream_free(stream);
}

// Messages name options as the JSON objects of this interface do.
static void test_option_names(const char* path, const pando_model* model) {
  pando_engine* engine = NULL;
  pando_stream* stream = NULL;
  pando_model* other = NULL;
  CHECK(pando_engine_open(model, "{\"kv_memory\": 1000}", &engine) == PANDO_INVALID_ARGUMENT);
  CHECK(strstr(pando_last_error(), "kv_memory is 1000 bytes") == pando_last_error());
  CHECK(pando_engine_open(model, "{\"threads\": 1, \"kv_memory\": 67108864}", &engine) == PANDO_OK);
  pando_status status = pando_ask(engine, kContext, kQuestions, 1, "{\"chat\": true}", &stream);
  if (status == PANDO_OK) status = pando_wait(stream, -1);
  CHECK(status == PANDO_OK);
  CHECK(strcmp(pando_completion_of(stream, 0, 0)->text, " tailor") == 0);
  pando_stream_free(stream);
  pando_engine_free(engine);
  CHECK(pando_model_load(path, "{\"chat_template\": \"nothing\"}", &other) ==
        PANDO_INVALID_ARGUMENT);
  CHECK(strstr(pando_last_error(), "'nothing' is neither a file nor a chat template") != NULL);
  CHECK(pando_model_load(path, "{\"tool_format\": \"xml\"}", &other) == PANDO_INVALID_ARGUMENT);
  CHECK(strstr(pando_last_error(), "tool format 'xml' is unknown") != NULL);
}

struct seen {
  int n_lines, n_tailors, n_summaries;
};

static int see(void* user, const char* json, size_t size) {
  struct seen* seen = user;
  CHECK(strlen(json) == size);
  ++seen->n_lines;
  seen->n_tailors += strstr(json, "\"text\":\" tailor\"") != NULL;
  seen->n_summaries += strncmp(json, "{\"summary\":", 11) == 0;
  return 0;
}

static void test_jobs(pando_engine* engine) {
  pando_job* job = NULL;
  const char* json = NULL;
  size_t size = 0;
  CHECK(pando_job_open(engine, "embeddings", "{\"input\": [\"a\", \"b\"]}", &job) == PANDO_OK);
  CHECK(pando_job_next(job, 60, &json, &size) == PANDO_OK && strlen(json) == size);
  CHECK(strstr(json, "\"object\":\"embedding\",\"index\":1") != NULL);
  CHECK(pando_job_next(job, 60, &json, &size) == PANDO_END);
  CHECK(pando_job_put(job, "{}", 2) == PANDO_INVALID_ARGUMENT);
  CHECK(strcmp(pando_last_error(), "the job takes no lines, expected a batch") == 0);
  pando_job_free(job);
  CHECK(pando_job_open(engine, "rerank", "{\"query\": \"\", \"documents\": [\"a\"]}", &job) ==
        PANDO_OK);
  CHECK(pando_job_next(job, 60, &json, &size) == PANDO_INVALID_ARGUMENT);
  pando_job_free(job);
  CHECK(strcmp(pando_last_error_place(), "{\"field\":\"query\"}") == 0);

  const char* const lines =
      "{\"context\": \"Velina works as a tailor.\", "
      "\"question\": \"What is the profession of Velina?\"}\n";
  struct seen seen = {0, 0, 0};
  CHECK(pando_run_batch(engine, lines, strlen(lines), NULL, see, &seen) == PANDO_OK);
  CHECK(seen.n_lines == 2 && seen.n_tailors == 1 && seen.n_summaries == 1);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  pando_model* model = NULL;
  pando_engine* engine = NULL;
  CHECK(strcmp(pando_last_error(), "") == 0 && pando_version()[0] != 0);
  CHECK(pando_model_load(argv[1], NULL, &model) == PANDO_OK);
  CHECK(strstr(pando_model_info(model), "\"has_tokenizer\":true") != NULL);
  CHECK(pando_engine_open(model, "{\"kv_type\": \"f8\"}", &engine) == PANDO_INVALID_ARGUMENT);
  CHECK(pando_engine_open(model, "{\"sharing\": \"no_attention\"}", &engine) ==
        PANDO_INVALID_ARGUMENT);
  CHECK(strstr(pando_last_error(), "expected one of tree, packed, prefix_cached") != NULL);
  test_option_names(argv[1], model);
  CHECK(pando_engine_open(model, "{\"threads\": 1, \"kv_memory\": 67108864}", &engine) == PANDO_OK);
  test_options(engine);
  test_min_tokens(engine);
  test_answers(engine);
  test_stream(engine);
  test_tokens(engine, model);
  test_score(engine);
  test_choices(engine);
  test_errors(engine, argv[1]);
  test_cancel(engine);
  test_jobs(engine);
  test_order_of_freeing(model);
  char stats[2048];
  size_t size = 0;
  CHECK(pando_engine_stats(engine, stats, sizeof stats, &size) == PANDO_OK && size < sizeof stats);
  stats[size] = 0;
  CHECK(strstr(stats, "\"requests\":") != NULL);
  pando_model_free(model);  // the engine keeps it
  test_answers(engine);
  pando_engine_free(engine);
  pando_engine_free(NULL);
  pando_stream_free(NULL);
  pando_model_free(NULL);
  pando_cancel(NULL);
  puts("all is well");
  return 0;
}
