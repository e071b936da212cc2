#include "serve/request_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/errors.h"

namespace pando::serve {

std::string log_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z ", fmt::gmtime(std::time_t{ms / 1000}),
                     ms % 1000);
}

std::string log_line(const LoggedRequest& request) {
  const auto known = [](const std::string& text) { return text.empty() ? "-" : one_line(text); };
  std::string line =
      log_time() + fmt::format("{} {} {} {} {:.3f}s", request.client, known(request.method),
                               known(request.path), request.status, request.seconds);
  const Tally& tally = request.tally;
  if (tally.n_prompt > 0)
    line += fmt::format(" prompt={} cached={} answer={}", tally.n_prompt, tally.n_cached,
                        tally.n_answer);
  if (!tally.error.empty()) line += " error=" + tally.error;
  if (!request.key_name.empty()) line += " key=" + request.key_name;
  return line + " id=" + request.id + "\n";
}

bool is_log_word(std::string_view text) {
  const auto visible = [](char c) { return c > ' ' && c < '\x7f'; };
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), visible);
}

}  // namespace pando::serve
