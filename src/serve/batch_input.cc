#include "serve/batch_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/errors.h"
#include "serve/new_file.h"

namespace pando::serve {
namespace {

constexpr std::string_view kBatchEndpoints[] = {"/v1/chat/completions", "/v1/completions",
                                                "/v1/responses", "/v1/embeddings", "/v1/rerank"};
constexpr size_t kInputPiece = size_t{256} << 10;
constexpr size_t kLongestCustomId = 512;  // bytes

// The object of a line; kInvalidArgument.
Result<Json> line_object(std::string_view text) {
  Result<Json> parsed = parse_json(text, LargeNumbers::kKept);
  if (!parsed) return parsed;
  if (!parsed->is_object())
    return invalid_argument("the line is {}, expected an object", found_text(*parsed));
  return parsed;
}

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

}  // namespace

std::span<const std::string_view> batch_endpoints() { return kBatchEndpoints; }

Json BatchProblem::json() const {
  return {{"code", code},
          {"message", message},
          {"line", line == 0 ? Json(nullptr) : Json(line)},
          {"param", param.empty() ? Json(nullptr) : Json(param)}};
}

Result<std::unique_ptr<BatchInput>> BatchInput::open(const std::string& path, Options options) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return io_error("the input cannot be read: {}", std::strerror(errno));
  return std::unique_ptr<BatchInput>(new BatchInput(file, std::move(options)));
}

Result<bool> BatchInput::scan(size_t n_bytes) {
  std::string piece(kInputPiece, '\0');
  for (size_t n_done = 0; n_done < n_bytes;) {
    const ssize_t n = pread(file_.file, piece.data(), piece.size(), static_cast<off_t>(n_read_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("the input cannot be read: {}", std::strerror(errno));
    if (n == 0) {
      end();
      return true;
    }
    n_done += static_cast<size_t>(n);
    n_read_ += static_cast<uint64_t>(n);
    std::string_view left(piece.data(), static_cast<size_t>(n));
    for (size_t at = 0; (at = left.find('\n')) != left.npos; left.remove_prefix(at + 1)) {
      rest_ += left.substr(0, at);
      take_line(rest_);
      line_begin_ += rest_.size() + 1;
      rest_.clear();
    }
    rest_ += left;
    if (rest_.size() > options_.max_line_bytes) take_line(rest_);
    if (problems_.size() >= kMostProblems || rest_.size() > options_.max_line_bytes ||
        lines_.size() > kMostLines)
      return true;
  }
  return false;
}

void BatchInput::end() {
  if (!rest_.empty()) take_line(std::exchange(rest_, {}));
  if (lines_.empty()) {
    line_number_ = 0;
    add_problem("empty_file", "the file has no lines, expected at least one request");
  }
  custom_ids_ = {};
}

void BatchInput::take_line(std::string_view text) {
  ++line_number_;
  if (text.find_first_not_of(" \t\r") == text.npos) return;
  lines_.push_back({line_begin_, text.size()});
  if (!options_.checks) return;
  if (lines_.size() > kMostLines)
    add_problem("too_many_requests", fmt::format("the file has more than {} requests", kMostLines));
  else if (text.size() > options_.max_line_bytes)
    add_problem("line_too_long",
                fmt::format("the line has more than {} bytes", options_.max_line_bytes));
  else
    check(text);
}

void BatchInput::check(std::string_view text) {
  Result<Json> object = line_object(text);
  if (!object) return add_problem("invalid_json_line", object.error().message());
  check_object(*object);
  take_apart(*object);
}

void BatchInput::check_object(const Json& line) {
  const Json &id = member(line, "custom_id"), &body = member(line, "body");
  if (!id.is_string() || id.get_ref<const std::string&>().empty() ||
      id.get_ref<const std::string&>().size() > kLongestCustomId)
    return add_problem("missing_required_parameter",
                       fmt::format("'custom_id' is {}, expected a text of 1 to {} bytes",
                                   found_text(id), kLongestCustomId),
                       "custom_id");
  if (!custom_ids_.insert(id.get_ref<const std::string&>()).second)
    return add_problem(
        "duplicate_custom_id",
        fmt::format("'custom_id' is {} as in an earlier line, expected another", found_text(id)),
        "custom_id");
  if (!is_text(member(line, "method"), "POST"))
    return add_problem(
        "invalid_method",
        fmt::format("'method' is {}, expected 'POST'", found_text(member(line, "method"))),
        "method");
  if (!is_text(member(line, "url"), options_.endpoint))
    return add_problem("invalid_url",
                       fmt::format("'url' is {}, expected the endpoint of the batch, '{}'",
                                   found_text(member(line, "url")), options_.endpoint),
                       "url");
  if (!body.is_object())
    return add_problem("invalid_body",
                       fmt::format("'body' is {}, expected an object", found_text(body)), "body");
  check_body(body);
}

void BatchInput::check_body(const Json& body) {
  const Json& model = member(body, "model");
  if (model.is_string())
    if (std::string why = options_.not_served(model.get<std::string>()); !why.empty())
      return add_problem("model_not_found", std::move(why), "body.model");
  if (const Json& stream = member(body, "stream"); !stream.is_null() && stream != Json(false))
    add_problem("invalid_body",
                fmt::format("'stream' is {}, expected false in a batch", found_text(stream)),
                "body.stream");
}

void BatchInput::add_problem(const char* code, std::string message, std::string param) {
  if (problems_.size() < kMostProblems)
    problems_.push_back({code, std::move(message), line_number_, std::move(param)});
}

Result<BatchLine> BatchInput::line(size_t index) const {
  const Place& place = lines_.at(index);
  const Result<std::string> text = read_at(file_.file, place.begin, place.n_bytes);
  if (!text) return text.error();
  Result<Json> object = line_object(*text);
  if (!object) return with_code(ErrorCode::kBadFile, object.error());
  BatchLine line;
  if (const Json& id = member(*object, "custom_id"); id.is_string()) line.custom_id = id;
  line.body = json_text(member(*object, "body"));
  take_apart(*object);
  return line;
}

}  // namespace pando::serve
