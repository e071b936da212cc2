#include "batch/journal.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"

namespace pando {
namespace {

constexpr int kVersion = 2;

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

uint64_t from_hex(const std::string& text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

Status read_header(const Json& json, const std::string& name, Journal& journal) {
  Fields fields(json, name);
  if (fields.find("pando_journal") == nullptr)
    return bad_file("'{}' begins with {}, expected a journal header", name, found_text(json));
  const int64_t version = fields.integer("pando_journal", 1, INT32_MAX);
  if (fields.status().ok() && version != kVersion)
    return unsupported(
        "'{}' has version {}, expected {}: another version of Pando wrote it (hint: --overwrite "
        "starts over)",
        name, version, kVersion);
  journal.created = fields.integer("created", 0, INT64_MAX);
  const Json* settings = fields.find("settings");
  if (settings == nullptr || !settings->is_object())
    return bad_file("'{}' has no settings in its header", name);
  for (const auto& [key, value] : settings->items())
    journal.settings.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  return fields.status();
}

Status read_record(const Json& json, const std::string& name, Journal& journal) {
  Fields fields(json, name);
  if (fields.find("finished") != nullptr) {
    const Json* summary = fields.find("summary");
    journal.finished = {static_cast<uint64_t>(fields.integer("finished", 0, INT64_MAX)),
                        static_cast<uint64_t>(fields.integer("left_out", 0, INT64_MAX)),
                        summary != nullptr ? summary->dump() : ""};
    return fields.status();
  }
  JournalRecord record;
  record.line = static_cast<uint64_t>(fields.integer("line", 1, INT64_MAX));
  record.question = static_cast<uint64_t>(fields.integer("question", 0, INT64_MAX));
  record.skipped = fields.find("skipped") != nullptr;
  record.n_answers = static_cast<int>(fields.integer("answers", 0, INT32_MAX));
  const JournalRecord* before = journal.records.empty() ? nullptr : &journal.records.back();
  const bool same_member =
      before != nullptr && before->in_member && before->in_member->n_behind > 0;
  record.begin = before == nullptr ? 0 : same_member ? before->begin : before->end;
  if (const Json* place = fields.find("member"); place != nullptr) {
    Fields in(*place, name);
    const auto number = [&](const char* field) {
      return static_cast<uint64_t>(in.integer(field, 0, INT64_MAX));
    };
    record.in_member = {number("begin"), number("end"), number("behind")};
    if (!in.status()) return in.status();
  }
  record.end =
      static_cast<uint64_t>(fields.integer("end", static_cast<int64_t>(record.begin), INT64_MAX));
  record.input_hash = from_hex(fields.string("input", ""));
  record.logits_hash = from_hex(fields.string("logits", "0"));
  journal.records.push_back(record);
  return fields.status();
}

constexpr std::string_view kHash = ",\"hash\":\"", kHashEnd = "\"}";
constexpr size_t kHashDigits = 16;

// Parts of a line without its newline. Without a hash the text is empty.
JournalLine split_hash(std::string_view line) {
  const size_t n_behind = kHash.size() + kHashDigits + kHashEnd.size();
  if (line.size() < n_behind || !line.ends_with(kHashEnd)) return {};
  const std::string_view text = line.substr(0, line.size() - n_behind);
  line.remove_prefix(text.size());
  if (!line.starts_with(kHash)) return {};
  return {text, from_hex(std::string(line.substr(kHash.size(), kHashDigits)))};
}

uint64_t hash_of_line(std::string_view text, uint64_t before, uint64_t answers) {
  const uint64_t seed = XXH3_64bits_withSeed(&before, sizeof before, answers);
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace

std::string JournalHash::line(std::string object, uint64_t answers) {
  object.pop_back();
  hash_ = hash_of_line(object, hash_, answers);
  return fmt::format("{}{}{}{}\n", object, kHash, hex(hash_), kHashEnd);
}

bool JournalHash::fits(const JournalLine& line, uint64_t answers) {
  hash_ = hash_of_line(line.text, hash_, answers);
  return hash_ == line.hash;
}

std::string journal_header(int64_t created, const AnswerFile::Settings& settings) {
  Json header = {{"pando_journal", kVersion}, {"created", created}};
  header["settings"] = Json::object();
  for (const auto& [name, value] : settings) header["settings"][name] = value;
  return header.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string journal_line(const JournalRecord& record) {
  const std::string place =
      record.in_member
          ? fmt::format(",\"member\":{{\"begin\":{},\"end\":{},\"behind\":{}}}",
                        record.in_member->begin, record.in_member->end, record.in_member->n_behind)
          : "";
  return fmt::format(
      "{{\"line\":{},\"question\":{},\"answers\":{},\"end\":{}{},\"input\":\"{}\"{}{}}}",
      record.line, record.question, record.n_answers, record.end, place, hex(record.input_hash),
      record.skipped ? ",\"skipped\":true" : "",
      record.logits_hash != 0 ? ",\"logits\":\"" + hex(record.logits_hash) + "\"" : "");
}

std::string journal_end(const Journal::End& end) {
  return fmt::format("{{\"finished\":{},\"left_out\":{}{}}}", end.n_bytes, end.n_left_out,
                     end.summary.empty() ? "" : ",\"summary\":" + end.summary);
}

Result<Journal> parse_journal(std::string_view text, const std::string& name) {
  Journal journal;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    const std::string_view line = text.substr(begin, end - begin);
    const Result<Json> json = parse_json_object(line, name);
    if (!json) return json.error();
    const Status status = journal.lines.empty() ? read_header(*json, name, journal)
                                                : read_record(*json, name, journal);
    if (!status) return status.error();
    journal.lines.push_back(split_hash(line));
    journal.lines.back().end = end + 1;
    if (journal.finished && journal.lines.size() > 2)
      return bad_file("'{}' has other lines beside its last one, expected only a header", name);
    if (journal.lines.back().text.empty())
      return bad_file("'{}', line {}: has no hash at its end", name, journal.lines.size());
  }
  if (journal.lines.empty()) return bad_file("'{}' has no complete line, expected a journal", name);
  return journal;
}

}  // namespace pando
