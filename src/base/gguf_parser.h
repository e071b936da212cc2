// The reading of a GGUF file's front part; for gguf.cc.
#pragma once

#include "base/gguf.h"

namespace pando {

// Bytes of one value; 0 for strings and arrays, whose size is in the file.
uint64_t gguf_size(GgufType type);
std::string_view gguf_type_name(GgufType type);

// Reads the file from front to back. The first failed read is kept as the error, and reads give
// zeros from then on. A false count makes no loop longer than the file, and takes no memory.
class GgufParser {
 public:
  explicit GgufParser(GgufFile* gguf) : gguf_(*gguf) {}
  Status parse();

 private:
  uint64_t left() const { return gguf_.file_.size() - at_; }
  bool ok() const { return !error_.has_value(); }
  void fail(Error error);
  void fail_cut_short(std::string_view what);

  // `what` names the thing in messages.
  template <class T>
  T number(std::string_view what);
  std::string_view string(std::string_view what);
  void skip(uint64_t n_bytes, std::string_view what);

  void header();
  void value();
  void array(std::string_view key, GgufFile::Value* value);
  void booleans(std::string_view key, uint64_t n);
  void find_alignment();
  void tensor();
  void shape(GgufTensor* tensor);
  void place_tensors();

  GgufFile& gguf_;
  uint64_t at_ = 0;
  uint64_t n_tensors_ = 0;
  uint64_t n_values_ = 0;
  std::optional<Error> error_;
};

}  // namespace pando
