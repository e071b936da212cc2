#include "batch/dealer.h"

#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>

namespace pando {
namespace {

constexpr size_t kMostRemembered = size_t{1} << 16;  // blocks

std::string text_of(const ChatMessage& message) {
  return message.role + message.content + (message.fields.is_null() ? "" : message.fields.text());
}

size_t bytes_of(const Request& request) {
  size_t n = request.prompt.size() + request.tokens.size() * LineWork::kBytesEach;
  for (const ChatMessage& message : request.messages) n += text_of(message).size();
  return n;
}

// What the prompts of a line begin with, of its own.
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
  const auto [in_a, in_b] = std::ranges::mismatch(a.blocks, b.blocks);
  return static_cast<size_t>(in_a - a.blocks.begin());
}

}  // namespace

LineWork LineWork::of(const ask::Line& line, double answer_tokens) {
  LineWork work;
  const std::string beginning = beginning_of(line);
  uint64_t hash = 0;
  for (size_t at = 0; at + kBlockBytes <= beginning.size(); at += kBlockBytes)
    work.blocks.push_back(hash = XXH3_64bits_withSeed(beginning.data() + at, kBlockBytes, hash));
  size_t n_bytes = beginning.size() - work.blocks.size() * kBlockBytes;
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
  work.own += static_cast<double>(n_bytes) / kBytesEach;
  return work;
}

void Dealer::add(std::vector<std::shared_ptr<OpenRecord>> records, LineWork work) {
  for (const std::shared_ptr<OpenRecord>& record : records)
    record->work = work.own / static_cast<double>(records.size());
  n_gathered_ += records.size();
  if (!units_.empty()) {
    Unit& last = units_.back();
    const size_t n = n_common(last.work, work);
    if (2 * n > work.blocks.size() &&
        last.work.own + work.own <= kAgain * LineWork::kBlockTokens * static_cast<double>(n)) {
      last.work.own +=
          work.own + LineWork::kBlockTokens * static_cast<double>(work.blocks.size() - n);
      last.records.insert(last.records.end(), records.begin(), records.end());
      return;
    }
  }
  units_.push_back({std::move(records), std::move(work)});
}

void Dealer::begin_round() {
  is_dealing_ = !units_.empty();
  if (!in_order_ && load_.size() > 1)
    std::ranges::stable_sort(units_, std::greater<>(),
                             [](const Unit& unit) { return unit.work.all(); });
}

std::vector<std::shared_ptr<OpenRecord>> Dealer::deal() {
  Unit unit = std::move(units_.front());
  units_.pop_front();
  is_dealing_ = !units_.empty();
  n_gathered_ -= unit.records.size();
  size_t n_known = 0;
  const size_t replica = replica_of(unit.work, n_known);
  remember(unit.work, replica);
  unit.records.front()->work +=
      LineWork::kBlockTokens * static_cast<double>(unit.work.blocks.size() - n_known);
  for (const std::shared_ptr<OpenRecord>& record : unit.records) {
    record->replica = replica;
    load_[replica] += record->work;
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

// n_known: number of the line's blocks that this replica was dealt before.
size_t Dealer::replica_of(const LineWork& work, size_t& n_known) const {
  std::vector<size_t> known(load_.size());
  size_t most = 0;
  for (size_t i = 0; i < work.blocks.size(); ++i) {
    const auto found = dealt_.find(work.blocks[i]);
    if (found == dealt_.end()) break;
    for (const size_t replica : found->second) known[replica] = most = i + 1;
  }
  const auto cost = [&](size_t replica) {
    return load_[replica] +
           kAgain * LineWork::kBlockTokens * static_cast<double>(most - known[replica]);
  };
  size_t best = 0;
  for (size_t replica = 1; replica < load_.size(); ++replica)
    if (cost(replica) < cost(best)) best = replica;
  n_known = known[best];
  return best;
}

void Dealer::remember(const LineWork& work, size_t replica) {
  for (const uint64_t block : work.blocks) {
    const auto [entry, is_new] = dealt_.try_emplace(block);
    if (is_new) order_.push_back(block);
    if (std::ranges::find(entry->second, replica) == entry->second.end())
      entry->second.push_back(replica);
  }
  for (; order_.size() > kMostRemembered; order_.pop_front()) dealt_.erase(order_.front());
}

}  // namespace pando
