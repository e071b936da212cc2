// Bodies of the type multipart/form-data (RFC 7578), read as they come. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando::serve {

struct FormPart {
  std::string name;
  std::optional<std::string> filename;  // absent: a plain field
};

// Takes the parts of a body in their order.
class FormSink {
 public:
  virtual ~FormSink() = default;
  virtual Status begin_part(const FormPart& part) = 0;
  virtual Status add_bytes(std::string_view bytes) = 0;  // of the last part
};

class MultipartReader {
 public:
  // kInvalidArgument if the content type is another, or has no boundary.
  static Result<MultipartReader> make(std::string_view content_type, FormSink& sink);

  // The next bytes of the body. Keeps less than 16 KiB of them. Errors: kInvalidArgument, and those
  // of the sink.
  Status add(std::string_view bytes);
  // kInvalidArgument if the body is not complete.
  Status end() const;

 private:
  enum class State { kBefore, kBehindBoundary, kHeaders, kPart, kOver };

  MultipartReader(std::string boundary, FormSink& sink);
  // One state on. False: more bytes are needed.
  Result<bool> advance();
  Result<bool> read_part();
  Result<bool> read_headers();

  std::string delimiter_;  // line end, two hyphens and the boundary
  FormSink* sink_;
  State state_ = State::kBefore;
  std::string rest_ = "\r\n";  // not read yet; the first boundary may stand at the beginning
};

// Value of a parameter such as boundary=x or filename="x" in a header; absent if it is not there.
std::optional<std::string> header_parameter(std::string_view header, std::string_view name);

}  // namespace pando::serve
