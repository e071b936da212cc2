#include "base/byte_order_mark.h"

#include "base/errors.h"

namespace pando {

Result<std::string_view> without_mark(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv))
    return bad_file("text in UTF-32, expected UTF-8");
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return bad_file("text in UTF-16, expected UTF-8");
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

}  // namespace pando
