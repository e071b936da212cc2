#include "serve/request_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace pando::serve {
namespace {

bool is_visible(char c) { return c > ' ' && c < '\x7f'; }

// As one word that is not too long, whatever a client sent.
std::string word_of(std::string_view text) {
  constexpr size_t kMost = 256;
  if (text.empty()) return "-";
  std::string word;
  for (const char c : text.substr(0, kMost)) {
    if (is_visible(c)) {
      word += c;
    } else {
      word += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text.size() > kMost ? word + "..." : word;
}

}  // namespace

std::string log_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z ", fmt::gmtime(std::time_t{ms / 1000}),
                     ms % 1000);
}

std::string log_line(const LoggedRequest& request) {
  std::string line =
      log_time() + fmt::format("{} {} {} {} {:.3f}s", request.client, word_of(request.method),
                               word_of(request.path), request.status, request.seconds);
  const Tally& tally = request.tally;
  if (tally.n_prompt > 0)
    line += fmt::format(" prompt={} cached={} answer={}", tally.n_prompt, tally.n_cached,
                        tally.n_answer);
  if (!tally.error.empty()) line += " error=" + tally.error;
  if (!tally.error_param.empty()) line += " param=" + word_of(tally.error_param);
  if (!request.key_name.empty()) line += " key=" + request.key_name;
  return line + " id=" + request.id + "\n";
}

bool is_log_word(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, is_visible);
}

}  // namespace pando::serve
