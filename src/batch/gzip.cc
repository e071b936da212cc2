#include "batch/gzip.h"

#include <zlib.h>

#include "base/check.h"
#include "base/errors.h"

namespace pando {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest, with a gzip header
constexpr size_t kPiece = size_t{1} << 16;

Bytef* bytes_of(std::string_view text) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
}

// Calls `step` until it gives no more.
template <class Step>
int take_all(z_stream& stream, std::string& out, const Step& step) {
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t n = out.size();
    out.resize(n + kPiece);
    stream.next_out = bytes_of(out) + n;
    stream.avail_out = kPiece;
    status = step(&stream);
    out.erase(out.size() - stream.avail_out);
  }
  return status;
}

}  // namespace

std::string gzip_member(std::string_view text) {
  z_stream stream{};
  PANDO_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                           Z_DEFAULT_STRATEGY) == Z_OK);
  std::string member;
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  take_all(stream, member, [](z_stream* s) { return deflate(s, Z_FINISH); });
  deflateEnd(&stream);
  return member;
}

Result<std::string> text_of_member(std::string_view member) {
  z_stream stream{};
  PANDO_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK);
  std::string text;
  stream.next_in = bytes_of(member);
  stream.avail_in = static_cast<uInt>(member.size());
  const int status = take_all(stream, text, [](z_stream* s) { return inflate(s, Z_NO_FLUSH); });
  const bool is_whole = status == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  if (!is_whole) return bad_file("the {} bytes are not one complete gzip member", member.size());
  return text;
}

}  // namespace pando
