// The demo model and what it is asked about.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lab/data/data_sets.h"
#include "lab/experiment.h"
#include "pando/scores.h"

namespace pando::lab {

// --model where it is given, else the demo model: in the repository beside the build directory, or
// where it is installed. kNotFound.
std::shared_ptr<const Model> demo_model(Harness& harness);
// docs/demo/documents.jsonl of the repository. kNotFound; kBadFile.
std::vector<QaDocument> demo_documents();

// Every question of every document, by the default template, with the tokens of the model; answers
// of at most n_tokens.
std::vector<Request> demo_requests(const Model& model, const std::vector<QaDocument>& documents,
                                   int n_tokens, int repetition);
// Scores the first answers, beside the documents' own.
Scores scores_of(const std::vector<QaDocument>& documents, const Sample& sample);
// Percent of one's answers that have the same tokens in the other, which may have more.
double same_answers(const Sample& one, const Sample& other);

// Hydragen, appendix D.3: documents of `n_tokens` with facts about dogs among other lines. Half of
// the facts are asked about. `filler` gives lines in turn, from the seed's place on.
std::vector<QaDocument> needle_documents(const Model& model, const std::vector<std::string>& filler,
                                         int n_documents, int n_tokens, int n_facts);
// Sentences of the other kinds of facts that the demo model knows.
std::vector<std::string> demo_filler(size_t n);
// An invented name: the same for the same number, different for different ones.
std::string invented_name(uint64_t number);
std::string dog_fact(uint64_t number);
std::string dog_question(uint64_t number);
std::string dog_color(uint64_t number);

}  // namespace pando::lab
