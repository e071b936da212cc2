// A journal of answers, torn anywhere.
#include "batch/journal.h"
#include "fuzz/fuzz.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const Result<Journal> journal = parse_journal(text, "journal");
  if (!journal) return fuzz::check_error(journal.error()), 0;
  fuzz::demand(journal->lines.back().end <= text.size(), "more bytes than there are");
  uint64_t end = 0;
  for (const JournalRecord& record : journal->records) {
    fuzz::demand(record.begin == end && record.end >= end, "answers that do not follow each other");
    end = record.end;
  }
  return 0;
}
