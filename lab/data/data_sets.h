// Published data sets, as texts. All are read from --data. Errors, thrown: kNotFound for a file
// that is not there, kBadFile for one that is not as expected, with file and record, or has
// fewer records than the published one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/experiment.h"

namespace pando::lab {

// A whole file, unpacked where it is gzip.
std::string read_data(const std::filesystem::path& path);

// A text with its questions, and the first reference answer to each: empty where the text has none.
struct QaDocument {
  std::string text;
  std::vector<std::string> questions;
  std::vector<std::string> answers;  // [questions]
};
std::vector<QaDocument> squad_documents(const Harness& harness);  // paragraphs; no answer is "null"
std::vector<QaDocument> race_documents(const Harness& harness);  // options are part of the question
std::vector<QaDocument> fairytale_documents(const Harness& harness);  // whole stories

std::vector<std::string> mmlu_questions(const Harness& harness);
std::vector<std::string> alpaca_texts(const Harness& harness);  // in Alpaca's form, with the output
std::vector<std::string> wikitext_paragraphs(const Harness& harness);  // that are not empty
std::string war_and_peace(const Harness& harness);

// A query with its candidates, the best by BM25 first.
struct TrecQuery {
  std::string query;
  std::vector<std::string> passages;
};
std::vector<TrecQuery> trec_queries(const Harness& harness, int year);  // 19 or 20

struct Problem {
  std::string text;  // says what the program has to do, and a test of it
  std::string code;  // that does it
};
std::vector<Problem> mbpp_problems(const Harness& harness);

}  // namespace pando::lab
