// Summary of a run of the batch runner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pando/scores.h"
#include "pando/values/engine_stats.h"
#include "pando/values/result.h"

namespace pando {

// Counts, scores and times of a run.
struct BatchSummary {
  uint64_t lines = 0;          // with content
  uint64_t bad_lines = 0;      // reported and left out
  uint64_t questions = 0;      // answered in this run: n answers to one are one, and all its parts
  uint64_t answers = 0;        // written in this run
  uint64_t earlier = 0;        // written before, by a run that this one resumed
  uint64_t prompt_tokens = 0;  // of the answers of this run: each counts its prompt
  uint64_t failed = 0;         // questions of good lines that could not be answered
  uint64_t too_long = 0;       // of these, for their length
  uint64_t skipped = 0;        // too long, left out as asked
  uint64_t cut = 0;            // lines whose context or prompt was truncated or split
  uint64_t forms_cut = 0;  // answers, earlier ones too, that were too long for their form to end
  bool stopped = false;    // as asked, before the end of the input
  ScoreTable scores;       // of all answers with references, earlier ones too
  std::string group_by;    // the field whose values are its groups
  double seconds = 0;
  // Hash over ids and logits hashes of all answers, earlier ones too, in any order; 0 without
  // hashes.
  uint64_t combined_hash = 0;
  // Sum and minimum of p(yes) + p(no) over this run's documents, whose scores compare the two.
  double mass_sum = 0, least_mass = 1;
  uint64_t n_masses = 0;  // documents
  EngineStats stats;      // of this run

  // Absent without documents.
  std::optional<double> mean_mass() const;
};

// The text of a finished run for its journal (AnswerFile::summary), and back. It omits times and
// the engine's counters, and counts all answers as earlier ones. Errors: kBadFile.
std::string finished_summary(const BatchSummary& summary);
Result<BatchSummary> read_finished_summary(const std::string& text);

}  // namespace pando
