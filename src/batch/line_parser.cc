#include "batch/line_parser.h"

#include <xxhash.h>

#include "base/errors.h"
#include "base/json.h"
#include "batch/task_lines.h"
#include "batch/too_long.h"
#include "text/tokenizer.h"

namespace pando {

Result<std::optional<BatchLine>> LineParser::parse(const InputRecord& record, bool was_answered) {
  if (options_.format != InputFormat::kJsonLines && find_invalid_utf8(record.text)) {
    failed_ = wants_names();
    return invalid_argument("the row is not UTF-8");
  }
  if (wants_names()) {
    names_hash_ = XXH3_64bits(record.text.data(), record.text.size());
    Result<Table> table =
        Table::open(record.text, options_.format == InputFormat::kCsv ? ',' : '\t', options_.task);
    failed_ = !table.ok();
    if (failed_) return table.error();
    table_ = std::move(*table);
    return std::optional<BatchLine>();
  }
  Result<BatchLine> line = parse_one(record);
  if (!line) return line.error();
  if (options_.trec_ids)
    if (Status status = check_ids(*line); !status && !was_answered) return status.error();
  fit(model_, context_, options_.too_long, *line);
  return std::optional<BatchLine>(std::move(*line));
}

Status LineParser::check_ids(const BatchLine& line) {
  if (Status status = check_trec_ids(line); !status) return status;
  if (!queries_.insert(line.id).second)
    return invalid_argument("query '{}' is there twice, expected ids of one each", line.id);
  return {};
}

Result<BatchLine> LineParser::parse_one(const InputRecord& record) const {
  const Result<nlohmann::json> json = table_ ? table_->line(record.text) : parse_json(record.text);
  if (!json) return json.error();
  switch (options_.task) {
    case BatchTask::kAnswer:
      break;
    case BatchTask::kEmbed:
      if (!embed_) return embed_.error();
      return read_embed_line(*json, record.line, *embed_, options_.defaults);
    case BatchTask::kRerank:
      return read_rerank_line(*json, record.line, options_);
    case BatchTask::kScore:
      return read_score_line(*json, record.line, options_);
  }
  return read_line(*json, record.line, options_.defaults,
                   table_ ? std::string_view() : record.text, embed_);
}

}  // namespace pando
