// A byte that says how a body is cut, then a form with the boundary "b": read alike however it is
// cut, and no part has the delimiter.
#include "fuzz/fuzz.h"
#include "serve/multipart.h"

using namespace pando;

namespace {

class Parts final : public serve::FormSink {
 public:
  Status begin_part(const serve::FormPart& part) override {
    text += "[" + part.name + "|" + part.filename.value_or("-") + "]";
    bytes.clear();
    return {};
  }
  Status add_bytes(std::string_view more) override {
    bytes += more;
    text += more;
    fuzz::demand(bytes.find("\r\n--b") == std::string::npos, "a part with a delimiter");
    return {};
  }

  std::string text;   // names and bytes of all parts
  std::string bytes;  // of the last one
};

// The parts, or the error.
std::string parts_of(std::string_view body, size_t piece) {
  Parts parts;
  serve::MultipartReader reader =
      serve::MultipartReader::make("multipart/form-data; boundary=b", parts).value();
  for (; !body.empty(); body.remove_prefix(std::min(piece, body.size())))
    if (const Status status = reader.add(body.substr(0, piece)); !status) {
      fuzz::check_error(status.error());
      return status.error().message();
    }
  const Status status = reader.end();
  if (!status) fuzz::check_error(status.error());
  return status ? parts.text : status.error().message();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view body = fuzz::text_of(data + 1, size - 1);
  fuzz::demand(parts_of(body, data[0] + 1) == parts_of(body, body.size() + 1),
               "a form that is read in another way where it is cut");
  return 0;
}
