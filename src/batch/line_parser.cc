#include "batch/line_parser.h"

#include "batch/too_long.h"

namespace pando {

Result<std::optional<BatchLine>> LineParser::parse(const InputRecord& record) {
  if (wants_names()) {
    Result<Table> table =
        Table::open(record.text, options_.format == InputFormat::kCsv ? ',' : '\t');
    failed_ = !table.ok();
    if (failed_) return table.error();
    table_ = std::move(*table);
    return std::optional<BatchLine>();
  }
  Result<BatchLine> line = parse_one(record);
  if (!line) return line.error();
  fit(model_, context_, options_.too_long, *line);
  return std::optional<BatchLine>(std::move(*line));
}

Result<BatchLine> LineParser::parse_one(const InputRecord& record) const {
  if (!table_) return parse_line(record.text, record.line, options_.defaults);
  const Result<nlohmann::json> row = table_->line(record.text);
  if (!row) return row.error();
  return read_line(*row, record.line, options_.defaults);
}

}  // namespace pando
