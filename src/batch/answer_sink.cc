#include "pando/answer_sink.h"

#include <chrono>
#include <ostream>
#include <utility>

#include "base/counted.h"
#include "base/errors.h"
#include "batch/gzip.h"

namespace pando {

AnswerSink::AnswerSink()
    : created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()) {}

const AnswerRecord* AnswerSink::find(uint64_t, uint64_t) const { return nullptr; }
Result<std::string> AnswerSink::read(const AnswerRecord&) const { return std::string(); }

void AnswerStream::append(const AnswerRecord&, const std::string& lines) {
  if (gzip_) {
    packed_ += lines;
  } else {
    stream_ << lines;
  }
  ++n_;
}

Status AnswerStream::commit() {
  if (!packed_.empty()) stream_ << gzip_member(std::exchange(packed_, {}));
  if (stream_.flush()) return {};
  return io_error("cannot write the output after {}", counted(n_, "questions"));
}

}  // namespace pando
