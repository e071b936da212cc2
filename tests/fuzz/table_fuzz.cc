// A CSV file: records, names of columns, rows, and the lines that they are.
#include <sstream>

#include "ask/input_table.h"
#include "ask/line.h"
#include "batch/record_scanner.h"
#include "fuzz/fuzz.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream in(std::string(fuzz::text_of(data, size)));
  RecordScanner scanner(in, InputFormat::kCsv);
  const std::optional<InputRecord> names = scanner.next();
  if (!names) return 0;
  const Result<ask::InputTable> table = ask::InputTable::open(names->text, ',');
  if (!table) return fuzz::check_error(table.error()), 0;
  uint64_t last = names->line;
  while (const std::optional<InputRecord> record = scanner.next()) {
    fuzz::demand(record->line > last, "a record that does not follow the last");
    last = record->line;
    const Result<Json> row = table->line(record->text);
    if (!row) {
      fuzz::check_error(row.error());
      continue;
    }
    fuzz::demand(row->is_object(), "a row that is no object");
    if (find_invalid_utf8(record->text)) continue;  // refused by LineParser
    const BatchOptions options;
    const Result<EmbedOptions> embed = EmbedOptions();
    const auto line =
        ask::read_answer_line(*row, {.number = record->line, .options = options, .embed = embed});
    if (!line) fuzz::check_error(line.error());
  }
  return 0;
}
