// Memory that runs out where a stream of pando.h is read: it ends with an error, which stays, and
// is never waited for in vain.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "capi/handles.h"
#include "engine/tiny_engine.h"
#include "pando.h"

namespace {

// This thread can allocate n_before times; then n_failing allocations fail.
thread_local int64_t n_before = INT64_MAX, n_failing = 0;

void* allocate(size_t n_bytes) {
  if (n_before > 0) {
    --n_before;
  } else if (n_failing > 0) {
    --n_failing;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(n_bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t n_bytes) { return allocate(n_bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pando::testing {
namespace {

constexpr double kLong = 30;  // seconds
constexpr size_t kQuestions = 3;

struct Read {
  pando_status status = PANDO_OK;  // that ended it
  std::string texts[kQuestions];   // of completions
};

Read read(pando_stream* stream) {
  Read read;
  pando_event event;
  while ((read.status = pando_next(stream, kLong, &event)) == PANDO_OK)
    if (event.completion != nullptr)
      read.texts[event.question].assign(event.completion->text, event.completion->text_size);
  return read;
}

pando_stream* open(pando_engine* engine, const char* options) {
  const char* questions[kQuestions] = {"One?", "Two?", "Three?"};
  pando_stream* stream = nullptr;
  EXPECT_EQ(pando_ask(engine, "A context.", questions, kQuestions, options, &stream), PANDO_OK)
      << pando_last_error();
  return stream;
}

// Each allocation of the reader fails in turn, and with it those behind it.
void try_all(const char* options, int64_t n_lasting) {
  pando_engine engine{open_tiny()};
  pando_stream* stream = open(&engine, options);
  const Read right = read(stream);
  pando_stream_free(stream);
  ASSERT_EQ(right.status, PANDO_END);
  int n_wrong = 0;
  for (int64_t k = 0;; ++k) {
    stream = open(&engine, options);
    n_failing = n_lasting;
    n_before = k;
    const Read found = read(stream);
    const bool has_failed = n_failing < n_lasting;
    n_before = INT64_MAX;
    if (found.status == PANDO_UNAVAILABLE) {
      ++n_wrong;
      EXPECT_EQ(read(stream).status, PANDO_UNAVAILABLE);
      EXPECT_STREQ(pando_last_error(), "not enough memory");
      EXPECT_EQ(pando_wait(stream, kLong), PANDO_UNAVAILABLE);
    } else {
      EXPECT_EQ(found.status, PANDO_END) << pando_last_error();
      for (size_t i = 0; i < kQuestions; ++i) EXPECT_EQ(found.texts[i], right.texts[i]);
    }
    pando_stream_free(stream);
    if (::testing::Test::HasFailure()) FAIL() << "allocation " << k;
    if (!has_failed) break;
  }
  EXPECT_GT(n_wrong, 0);
}

constexpr const char* kAnswers =
    R"({"max_tokens": 3, "temperature": 0, "ignore_eos": true, "logprobs": true})";
constexpr const char* kChoices = R"({"choices": ["yes", "no"]})";

TEST(CWithoutMemory, Answers) { try_all(kAnswers, 1); }
TEST(CWithoutMemory, AnswersInALastingShortage) { try_all(kAnswers, 50); }
TEST(CWithoutMemory, Choices) { try_all(kChoices, 1); }
TEST(CWithoutMemory, ChoicesInALastingShortage) { try_all(kChoices, 50); }

}  // namespace
}  // namespace pando::testing
