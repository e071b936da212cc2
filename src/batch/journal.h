// The lines of a journal: a header, a record for each answered question, a last line. Each ends
// with a hash of the journal so far and of the answers that it covers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/answer_file.h"

namespace pando {

struct JournalRecord : AnswerRecord {
  uint64_t begin = 0, end = 0;  // bytes of the answers' file; of one that is packed, of the member
  // In a packed file, says what of the member's text they are, and how many records of it follow:
  // until the last of these is there the member is not known.
  struct Place {
    uint64_t begin = 0, end = 0, n_behind = 0;
  };
  std::optional<Place> in_member;
};

// A line's object without the hash at its end.
struct JournalLine {
  std::string_view text;
  uint64_t hash = 0;
  uint64_t end = 0;  // end of the line in the journal, in bytes
};

struct Journal {
  int64_t created = 0;
  AnswerFile::Settings settings;
  std::vector<JournalRecord> records;  // in the order of the file
  struct End {
    uint64_t n_bytes = 0;     // of the answers' file
    uint64_t n_left_out = 0;  // lines and questions
    std::string summary;      // JSON, or nothing
  };
  std::optional<End> finished;
  // First the header, then the lines of `records` or `finished`. A torn last line is left out.
  std::vector<JournalLine> lines;
};

// The JSON objects of lines.
std::string journal_header(int64_t created, const AnswerFile::Settings& settings);
std::string journal_line(const JournalRecord& record);
std::string journal_end(const Journal::End& end);

// The running hash of a journal, line by line.
class JournalHash {
 public:
  // Returns the next line with its hash and newline. `answers`: the hash of all answers so far.
  std::string line(std::string object, uint64_t answers);
  // True if the hash of the next line matches its text and these answers.
  bool fits(const JournalLine& line, uint64_t answers);

 private:
  uint64_t hash_ = 0;  // hash of the last line
};

// `text` must outlive the result. kBadFile for a text that is not a journal, even a torn one.
Result<Journal> parse_journal(std::string_view text, const std::string& name);

}  // namespace pando
