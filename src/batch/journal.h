// The lines of a journal: a header, a record for each answered question, a last line. Each ends
// with a hash of the journal up to there and of the answers that it speaks of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/answer_file.h"

namespace pando {

struct JournalRecord : AnswerRecord {
  uint64_t begin = 0, end = 0;  // bytes of the answers' file; of one that is packed, of the member
  // Of a packed file, what of the member's text they are, and how many records of it follow: until
  // the last of these is there the member is not known.
  struct Place {
    uint64_t begin = 0, end = 0, n_behind = 0;
  };
  std::optional<Place> in_member;
};

// The object of a line without its hash, which it ends with.
struct JournalLine {
  std::string_view text;
  uint64_t hash = 0;
  uint64_t end = 0;  // of the line, in the journal
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
  // The header's first, then those of `records` or `finished`. A torn last line is left out.
  std::vector<JournalLine> lines;
};

// Objects of lines.
std::string journal_header(int64_t created, const AnswerFile::Settings& settings);
std::string journal_line(const JournalRecord& record);
std::string journal_end(const Journal::End& end);

// Goes from line to line of a journal.
class JournalHash {
 public:
  // The next line, with its hash and its end. `answers`: the hash of all answers up to there.
  std::string line(std::string object, uint64_t answers);
  // Whether the next line is as it was written beside these answers.
  bool fits(const JournalLine& line, uint64_t answers);

 private:
  uint64_t hash_ = 0;  // of the last line
};

// Of a text that stays where it is. kBadFile for what no journal can be, torn or not.
Result<Journal> parse_journal(std::string_view text, const std::string& name);

}  // namespace pando
