// Format of a file of answers, by the ending of its name.
#pragma once

#include <filesystem>

#include "pando/values/result.h"

namespace pando {

enum class OutputFormat { kJsonLines, kCsv, kTsv };

struct OutputForm {
  OutputFormat format = OutputFormat::kJsonLines;
  bool gzip = false;  // packed in members, each whole with its commit
};

// .jsonl, .json, .ndjson, .txt or none: JSON lines; .csv and .tsv: tables; each also with .gz
// behind it. "-" and names in /dev are without an ending. kInvalidArgument for any other.
Result<OutputForm> output_form(const std::filesystem::path& path);

// Additional fields of answers.
struct ExtraFields {
  bool question = false;  // "question": its text
  bool answers = false;   // "answers": the references
  // "exact_match", "token_f1", "rouge_l"; for choices also "accuracy" and "accuracy_norm"
  bool scores = false;
  bool prompt = false;  // "prompt": as the model got it
};

}  // namespace pando
