#include "batch/dealer.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <string>

namespace pando {
namespace {

constexpr size_t kMostRemembered = size_t{1} << 18;  // pieces

std::string text_of(const ChatMessage& message) {
  return message.role + message.content + (message.fields.is_null() ? "" : message.fields.text());
}

size_t bytes_of(const Request& request) {
  size_t n = request.prompt.size() + request.tokens.size() * kBytesPerToken;
  for (const ChatMessage& message : request.messages) n += text_of(message).size();
  return n;
}

// Text that the prompts of a line begin with.
std::string beginning_of(const ask::Line& line) {
  if (!line.contexts.empty()) return line.contexts.front();
  if (line.questions.empty()) return {};
  const Request& first = line.questions.front().request;
  std::string text = first.prompt;
  for (const ChatMessage& message : first.messages) text += text_of(message);
  text.append(reinterpret_cast<const char*>(first.tokens.data()),
              first.tokens.size() * sizeof(Token));
  return text;
}

size_t n_common(const LineWork& a, const LineWork& b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a.pieces, b.pieces);
  return static_cast<size_t>(in_a - a.pieces.begin());
}

}  // namespace

LineWork LineWork::of(const ask::Line& line, double answer_tokens) {
  LineWork work;
  const std::string beginning = beginning_of(line);
  work.pieces = pieces_of(beginning);
  size_t n_bytes = beginning.size() - work.pieces.size() * kPieceBytes;
  for (size_t i = 1; i < line.contexts.size(); ++i) n_bytes += line.contexts[i].size();
  for (const ask::Question& question : line.questions) {
    n_bytes += question.text.size();
    for (const std::string& choice : question.choices) n_bytes += choice.size();
    if (line.contexts.empty() && &question != line.questions.data())
      n_bytes += bytes_of(question.request);
    const SamplingOptions& sampling = question.request.sampling;
    if (question.choices.empty() && question.request.pooling == Pooling::kNone)
      work.own += std::max(sampling.n, 1) *
                  std::min(static_cast<double>(sampling.max_tokens), answer_tokens);
  }
  work.own += static_cast<double>(n_bytes) / kBytesPerToken;
  return work;
}

Dealer::Dealer(size_t n_replicas, bool in_order)
    : in_order_(in_order),
      router_({.most_pieces = kMostRemembered,
               .again = kAgain,
               .patience = std::numeric_limits<double>::infinity(),
               .room = 0,
               .tie = 0}) {
  for (size_t i = 0; i < n_replicas; ++i)
    router_.report(router_.join(), {.seconds_per_prompt_token = 1}, {}, kNow, kNow);
}

void Dealer::add(std::vector<std::shared_ptr<OpenRecord>> records, LineWork work) {
  for (const std::shared_ptr<OpenRecord>& record : records)
    record->work = work.own / static_cast<double>(records.size());
  n_gathered_ += records.size();
  if (!units_.empty()) {
    Unit& last = units_.back();
    const size_t n = n_common(last.work, work);
    if (2 * n > work.pieces.size() &&
        last.work.own + work.own <= kAgain * kPieceTokens * static_cast<double>(n)) {
      last.work.own += work.own + kPieceTokens * static_cast<double>(work.pieces.size() - n);
      last.records.insert(last.records.end(), records.begin(), records.end());
      return;
    }
  }
  units_.push_back({std::move(records), std::move(work)});
}

void Dealer::begin_round() {
  is_dealing_ = !units_.empty();
  if (!in_order_ && router_.n_replicas() > 1)
    std::ranges::stable_sort(units_, std::greater<>(),
                             [](const Unit& unit) { return unit.work.all(); });
}

std::vector<std::shared_ptr<OpenRecord>> Dealer::deal() {
  Unit unit = std::move(units_.front());
  units_.pop_front();
  is_dealing_ = !units_.empty();
  n_gathered_ -= unit.records.size();
  const LineWork& work = unit.work;
  const auto choice = router_.choose({.pieces = work.pieces, .n_prompt = work.all()}, kNow);
  // The first record has what the line begins with.
  RoutedWork sent{.pieces = work.pieces};
  double n_held = kPieceTokens * static_cast<double>(choice->n_held);
  unit.records.front()->work += kPieceTokens * static_cast<double>(work.pieces.size()) - n_held;
  for (const std::shared_ptr<OpenRecord>& record : unit.records) {
    record->replica = choice->replica;
    sent.n_prompt = record->work + n_held;
    record->ticket = router_.sent(choice->replica, sent, kNow);
    sent.pieces = {};
    n_held = 0;
  }
  return std::move(unit.records);
}

std::vector<std::shared_ptr<OpenRecord>> Dealer::take_back() {
  std::vector<std::shared_ptr<OpenRecord>> records;
  for (Unit& unit : units_) std::ranges::move(unit.records, std::back_inserter(records));
  units_.clear();
  n_gathered_ = 0;
  is_dealing_ = false;
  return records;
}

}  // namespace pando
