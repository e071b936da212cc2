#include "text/pre_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "text/normalizer.h"
#include "text/utf8.h"

namespace pando {
namespace {

using Word = FunctionRef<void(std::string_view)>;

// Each step may write the text again; two marks in turns, cut apart, would double it each time.
constexpr size_t kMostWritten = 256;

Status run_steps(std::span<const PreStep> steps, std::string_view text, bool at_start, size_t* room,
                 Word word);

// One step on one piece of text; its pieces go through the steps after it.
struct RunStep {
  std::span<const PreStep> rest;
  std::string_view text;
  bool at_start;
  size_t* room;  // bytes of text that steps may still write
  Word word;

  Status operator()(const pre::Split& step) const {
    Status failed;
    const auto give = [&](std::string_view piece) {
      if (failed.ok()) failed = next(piece, piece.data() == text.data());
    };
    const Status split = step.keep == pre::Split::Keep::kAll
                             ? step.pattern.split(text, [&](auto piece, bool) { give(piece); })
                             : split_joining(step, give);
    return failed.ok() ? split : failed;
  }

  // Pieces that belong together lie side by side: a word is kept open while the next may join it.
  Status split_joining(const pre::Split& step, Word give) const {
    using Keep = pre::Split::Keep;
    std::string_view open;  // without data before the first piece
    bool open_is_match = false;
    const Status split = step.pattern.split(text, [&](std::string_view piece, bool found) {
      const bool is_match = found != step.invert;
      if (step.keep == Keep::kBetween) {
        if (!is_match) give(piece);
        return;
      }
      const bool joins = step.keep == Keep::kRuns           ? is_match == open_is_match
                         : step.keep == Keep::kWithPrevious ? is_match && !open_is_match
                                                            : !is_match && open_is_match;
      if (open.data() != nullptr && joins) {
        open = std::string_view(open.data(), open.size() + piece.size());
      } else {
        if (open.data() != nullptr) give(open);
        open = piece;
      }
      open_is_match = is_match;
    });
    if (!open.empty()) give(open);
    return split;
  }

  Status operator()(const pre::Threes& step) const {
    Status failed;
    const char* open = text.data();  // the piece not given yet begins here
    const auto cut = [&](const char* at) {
      if (failed.ok() && at != open) {
        failed = next({open, static_cast<size_t>(at - open)}, open == text.data());
      }
      open = at;
    };
    const Status split = step.runs.split(text, [&](std::string_view piece, bool is_match) {
      if (!is_match) return;
      if (step.apart) cut(piece.data());
      const auto n =
          static_cast<size_t>(std::count_if(piece.begin(), piece.end(), begins_character));
      size_t i = 0;
      for (const char& c : piece) {
        if (begins_character(c) && (n - i++) % 3 == 0) cut(&c);
      }
      if (step.apart) cut(piece.data() + piece.size());
    });
    cut(text.data() + text.size());
    return failed.ok() ? split : failed;
  }

  Status operator()(const pre::SpaceBefore&) const {
    if (text.starts_with(' ')) return next(text, true);
    const std::string spaced = fmt::format(" {}", text);
    if (Status status = write(spaced); !status.ok()) return status;
    return next(spaced, true);
  }

  Status operator()(const pre::Metaspace& step) const {
    using Prepend = pre::Metaspace::Prepend;
    const bool wanted =
        step.prepend == Prepend::kAlways || (step.prepend == Prepend::kFirst && at_start);
    std::string marked = replace_all(text, " ", step.mark);
    if (wanted && !marked.starts_with(step.mark)) marked.insert(0, step.mark);
    if (Status status = write(marked); !status.ok()) return status;
    if (!step.split) return next(marked, true);
    const std::string_view all = marked;
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = std::min(all.find(step.mark, begin + 1), all.size());
      if (Status done = next(all.substr(begin, end - begin), begin == 0); !done.ok()) return done;
      begin = end;
    }
    return {};
  }

  Status write(std::string_view written) const {
    if (written.size() > *room) {
      return unsupported("the tokenizer's pre-tokenizer makes a text more than {} times as long",
                         kMostWritten);
    }
    *room -= written.size();
    return {};
  }

  // `front`: the piece is the first of the text.
  Status next(std::string_view piece, bool front) const {
    return run_steps(rest, piece, at_start && front, room, word);
  }
};

Status run_steps(std::span<const PreStep> steps, std::string_view text, bool at_start, size_t* room,
                 Word word) {
  if (text.empty()) return {};
  if (steps.empty()) {
    word(text);
    return {};
  }
  return std::visit(RunStep{steps.subspan(1), text, at_start, room, word}, steps.front());
}

}  // namespace

Status PreTokenizer::split(std::string_view section, bool at_start, Word word) const {
  size_t room = kMostWritten * (section.size() + 64);
  return run_steps(steps_, section, at_start, &room, word);
}

}  // namespace pando
