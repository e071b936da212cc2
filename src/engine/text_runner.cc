#include "engine/text_runner.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/fault.h"
#include "engine/pooling.h"
#include "engine/sampler.h"
#include "plan/text_plan.h"

namespace pando {
namespace {

uint64_t hash_of(const Request& request) {
  const uint64_t of_tokens = XXH3_64bits_withSeed(
      request.tokens.data(), request.tokens.size() * sizeof(Token), request.isolation_key);
  return XXH3_64bits_withSeed(request.token_types.data(), request.token_types.size(), of_tokens);
}

bool reads(const Request& request, uint32_t row) {
  const uint32_t first = first_pooled(request);
  return pools_many(request) ? row >= first : row == first;
}

}  // namespace

uint64_t TextRunner::n_elements(const Text& text) const {
  return uint64_t{parts_.executor.facts().n_passes} * text.tokens.size();
}

// An equal text of which no output is asked for yet; null if there is none.
TextRunner::Text* TextRunner::find_equal(const Request& request, uint64_t hash) {
  const auto found = by_hash_.find(hash);
  if (!parts_.joins_equal || found == by_hash_.end()) return nullptr;
  Text& text = *found->second;
  const bool is_equal = text.tokens == request.tokens && text.token_types == request.token_types &&
                        text.isolation_key == request.isolation_key;
  const bool is_early =
      text.n_submitted <= n_elements(text) - text.tokens.size() || fault_on(Fault::kJoinedTooLate);
  return is_equal && is_early && !text.is_over ? &text : nullptr;
}

// kUnavailable where all open texts come to more tokens than they may. One alone is not too much.
Status TextRunner::check_queue(size_t n_more) const {
  const double n_most =
      parts_.options.max_queue * static_cast<double>(parts_.executor.facts().kv_capacity);
  const size_t n_tokens = n_tokens_ + n_more;
  if (n_most == 0 || n_tokens_ == 0 || static_cast<double>(n_tokens) <= n_most) return {};
  return make_error(ErrorCode::kUnavailable,
                    "the open texts have {} tokens, expected at most {:.0f}", n_tokens, n_most);
}

Status TextRunner::submit(RequestId id, Request request, Listener listener) {
  const uint64_t hash = hash_of(request);
  const size_t n_tokens = request.tokens.size();
  Text* const equal = find_equal(request, hash);
  if (equal == nullptr)
    if (Status status = check_queue(n_tokens); !status) return status;
  Completion completion{.prompt_tokens = static_cast<int>(n_tokens),
                        .cut_tokens = request.cut_tokens,
                        .shared_tokens = equal == nullptr ? 0 : static_cast<int>(n_tokens)};
  std::unique_ptr<Text> own;
  if (equal == nullptr)
    own = std::make_unique<Text>(Text{.tokens = request.tokens,
                                      .token_types = request.token_types,
                                      .isolation_key = request.isolation_key,
                                      .hash = hash});
  auto active = std::make_shared<ActiveRequest>();
  active->id = id;
  active->request = std::move(request);
  active->listener = std::move(listener);
  active->n_open = 1;
  (own ? *own : *equal).readers.push_back({std::move(active), std::move(completion)});
  if (own) {
    if (texts_.size() == texts_.capacity()) texts_.reserve(2 * texts_.size() + 1);
    by_hash_[hash] = own.get();
    texts_.push_back(std::move(own));
    n_tokens_ += n_tokens;
  }
  ++n_requests_;
  parts_.stats.arrived_tokens += n_tokens;
  parts_.stats.arrived_shared += equal == nullptr ? 0 : n_tokens;
  return {};
}

void TextRunner::cancel(std::span<const RequestId> ids) {
  for (const auto& text : texts_) {
    n_requests_ -= std::erase_if(text->readers, [&](const Reader& reader) {
      return std::ranges::binary_search(ids, reader.request->id);
    });
    text->is_over |= text->readers.empty();
  }
  remove_over();
}

void TextRunner::fail_all(const Error& error) noexcept {
  for (const auto& text : texts_) fail(*text, [&] { return error; });
  remove_over();
}

std::vector<RequestId> TextRunner::waiting() const {
  std::vector<RequestId> ids;
  for (const auto& text : texts_)
    if (text->n_submitted == 0)
      for (const Reader& reader : text->readers) ids.push_back(reader.request->id);
  std::ranges::sort(ids);  // ids ascend in order of arrival
  return ids;
}

size_t TextRunner::n_running() const {
  size_t n = 0;
  for (const auto& text : texts_) n += text->pages.empty() ? 0 : text->readers.size();
  return n;
}

size_t TextRunner::n_given_up() const {
  return static_cast<size_t>(
      std::ranges::count_if(texts_, [](const auto& text) { return text->is_over; }));
}

// False if there are not enough; then it has none.
bool TextRunner::take_pages(Text& text) {
  if (!text.pages.empty()) return true;
  const auto page_len = static_cast<size_t>(parts_.executor.facts().page_len);
  const size_t n_pages = (text.tokens.size() + page_len - 1) / page_len;
  if (parts_.pages.n_free() < n_pages) return false;
  text.pages.reserve(n_pages);
  while (text.pages.size() < n_pages) text.pages.push_back(parts_.pages.allocate().value());
  return true;
}

// The rows of the last pass that are among the elements and that somebody reads.
std::vector<uint32_t> TextRunner::outputs_of(const Text& text, uint64_t begin, uint64_t end) const {
  const uint64_t n_rows = text.tokens.size(), last_pass = n_elements(text) - n_rows;
  std::vector<uint32_t> rows;
  for (uint64_t at = std::max(begin, last_pass); at < end; ++at) {
    const auto row = static_cast<uint32_t>(at - last_pass);
    if (std::ranges::any_of(text.readers,
                            [&](const Reader& r) { return reads(r.request->request, row); }))
      rows.push_back(row);
  }
  return rows;
}

uint64_t TextRunner::most_elements() const {
  constexpr double kFewest = 64;  // fewer would take almost as long
  const auto step_rows = static_cast<uint64_t>(parts_.options.step_rows);
  const uint64_t most = step_rows * parts_.executor.facts().n_passes;
  if (std::isinf(parts_.step_seconds)) return most;
  if (seconds_per_element_ == 0) return step_rows;
  const double n = std::max(kFewest, parts_.step_seconds / seconds_per_element_);
  return n < static_cast<double>(most) ? static_cast<uint64_t>(n) : most;
}

void TextRunner::observe(const Shares& shares, double seconds) {
  constexpr double kForget = 0.9;
  uint64_t n = 0;
  for (const Share& share : shares) n += share.end - share.begin;
  seconds_per_element_ =
      std::max(seconds / static_cast<double>(n), kForget * seconds_per_element_);
}

TextRunner::Shares TextRunner::choose() {
  const auto step_rows = static_cast<uint64_t>(parts_.options.step_rows);
  uint64_t n_left = most_elements();
  const uint64_t half = n_left / 2 + 1;
  Shares shares;
  std::optional<size_t> long_share;
  const auto extend = [&](Share& share, uint64_t n_most) {
    const uint64_t n = std::min(n_most, n_elements(*share.text) - share.end);
    share.end += n;
    n_left -= n;
  };
  for (const auto& text : texts_) {
    if (n_left == 0) break;
    if (text->is_over || text->n_submitted == n_elements(*text)) continue;
    const bool is_long = text->tokens.size() > step_rows;
    if (is_long && long_share) continue;
    if (!take_pages(*text)) break;
    if (is_long) long_share = shares.size();
    shares.push_back({text.get(), text->n_submitted, text->n_submitted, {}});
    extend(shares.back(), is_long ? std::min(n_left, half) : n_left);
  }
  if (long_share) extend(shares[*long_share], n_left);
  for (Share& share : shares) share.outputs = outputs_of(*share.text, share.begin, share.end);
  return shares;
}

// False: there is no work for another step, or it failed.
bool TextRunner::submit_next() {
  Shares shares;
  try {
    shares = choose();
    if (shares.empty()) return false;
    std::vector<PlannedText> planned;
    for (const Share& share : shares) {
      const Text& text = *share.text;
      planned.push_back(
          {text.tokens, text.token_types, text.pages, share.begin, share.end, share.outputs});
      const uint32_t n_passes = parts_.executor.facts().n_passes;
      parts_.stats.prefill_rows += share.end / n_passes - share.begin / n_passes;
    }
    const ExecutorFacts& facts = parts_.executor.facts();
    in_flight_.push_back(std::move(shares));
    try {
      parts_.executor.submit(plan_texts(planned, facts.page_len, facts.tile_len));
    } catch (...) {
      shares = std::move(in_flight_.back());
      in_flight_.pop_back();
      throw;
    }
    for (const Share& share : in_flight_.back()) {
      share.text->n_submitted = share.end;
      ++share.text->n_in_flight;
    }
    parts_.stats.kv_bytes_peak = std::max<uint64_t>(
        parts_.stats.kv_bytes_peak, parts_.executor.kv_bytes(parts_.pages.n_used()));
    return true;
  } catch (const std::bad_alloc&) {
    fail(shares, [] { return no_memory(); });
  } catch (const std::exception& error) {
    fail(shares, [&] { return make_error(ErrorCode::kInternal, "{}", error.what()); });
  }
  return false;
}

void TextRunner::finish_next() {
  if (in_flight_.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  const Shares shares = std::move(in_flight_.front());
  in_flight_.pop_front();
  for (const Share& share : shares) --share.text->n_in_flight;
  try {
    try {
      parts_.executor.finish();
    } catch (...) {  // later steps failed too; their texts begin again
      for (const Shares& later : std::exchange(in_flight_, {}))
        for (const Share& share : later) restart(*share.text);
      throw;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    observe(shares, seconds.count());
    read(shares);
  } catch (const std::bad_alloc&) {
    fail(shares, [] { return no_memory(); });
  } catch (const std::exception& error) {
    fail(shares, [&] { return make_error(ErrorCode::kInternal, "{}", error.what()); });
  }
}

void TextRunner::restart(Text& text) {
  text.n_submitted = 0;
  text.n_in_flight = 0;
  for (Reader& reader : text.readers) {
    reader.completion.embedding.clear();
    reader.completion.logits_hash = 0;
  }
}

void TextRunner::read(const Shares& shares) {
  const auto d_model = static_cast<size_t>(parts_.executor.facts().d_model);
  uint32_t output = 0;
  for (const Share& share : shares) {
    Text& text = *share.text;
    for (const uint32_t row : share.outputs) {
      const std::span hidden(parts_.executor.hidden(output++, 1), d_model);
      for (Reader& reader : text.readers) {
        const Request& request = reader.request->request;
        if (!reads(request, row)) continue;
        pool_row(request, row, hidden, reader.completion.embedding);
        if (request.logits_hash)
          reader.completion.logits_hash = chain_hash(reader.completion.logits_hash, hidden);
      }
    }
    if (share.end == n_elements(text) && !text.is_over) finish(text);
  }
}

void TextRunner::finish(Text& text) {
  parts_.outbox.make_room(text.readers.size());  // first: an event must not be lost
  for (Reader& reader : text.readers) {
    Completion& completion = reader.completion;
    finish_pooling(reader.request->request, completion.embedding);
    completion.finish_reason = FinishReason::kStop;
    parts_.stats.prompt_tokens += static_cast<uint64_t>(completion.prompt_tokens);
    ++parts_.stats.requests;
    Event event{.request = reader.request->id};
    event.completion = std::move(completion);
    parts_.outbox.add(std::move(reader.request), std::move(event));
  }
  n_requests_ -= text.readers.size();
  text.readers.clear();
  text.is_over = true;
}

// A bug or a lack of memory ends the texts of its step, or the oldest one where it never got so
// far.
void TextRunner::fail(const Shares& shares, const MakeError& reason) noexcept {
  for (const Share& share : shares)
    if (!share.text->is_over) fail(*share.text, reason);
  if (!shares.empty()) return;
  const auto oldest = std::ranges::find_if(texts_, [](const auto& text) { return !text->is_over; });
  if (oldest != texts_.end()) fail(**oldest, reason);
}

void TextRunner::fail(Text& text, const MakeError& reason) noexcept {
  for (Reader& reader : text.readers) {
    reader.request->error = made_or(reason, std::move(reader.request->error));
    parts_.outbox.add_failed(std::move(reader.request));
  }
  n_requests_ -= text.readers.size();
  text.readers.clear();
  text.is_over = true;
}

void TextRunner::remove_over() {
  std::erase_if(texts_, [&](const std::unique_ptr<Text>& text) {
    if (!text->is_over || text->n_in_flight > 0) return false;
    for (const PageId page : text->pages) parts_.pages.release(page);
    n_tokens_ -= text->tokens.size();
    const auto found = by_hash_.find(text->hash);
    if (found != by_hash_.end() && found->second == text.get()) by_hash_.erase(found);
    return true;
  });
}

void TextRunner::step() {
  while (in_flight_.size() < parts_.depth && submit_next()) continue;
  finish_next();
  remove_over();
}

}  // namespace pando
