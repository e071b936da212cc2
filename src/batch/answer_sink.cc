#include "pando/answer_sink.h"

#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <utility>

#include "base/counted.h"
#include "base/write_file.h"
#include "batch/gzip.h"

namespace pando {

AnswerSink::AnswerSink()
    : created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()) {}

const AnswerRecord* AnswerSink::find(uint64_t, uint64_t) const { return nullptr; }
Result<std::string> AnswerSink::read(const AnswerRecord&) const { return std::string(); }

void AnswerStream::append(const AnswerRecord&, const std::string& lines) {
  lines_ += lines;
  ++n_;
}

Status AnswerStream::commit() {
  std::string text = std::exchange(lines_, {});
  if (gzip_ && !text.empty()) text = gzip_member(text);
  return write_text(stream_, text, fmt::format("the output after {}", counted(n_, "questions")));
}

}  // namespace pando
