#include "text/pre_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/normalizer.h"

namespace pando {
namespace {

using Word = FunctionRef<void(std::string_view)>;

Status run_steps(std::span<const PreStep> steps, std::string_view text, bool at_start, Word word);

// One step on one piece of text; its pieces go through the steps after it.
struct RunStep {
  std::span<const PreStep> rest;
  std::string_view text;
  bool at_start;
  Word word;

  Status operator()(const pre::Split& step) const {
    Status failed;
    const Status split = step.pattern.split(text, [&](std::string_view piece) {
      if (failed.ok()) failed = next(piece, piece.data() == text.data());
    });
    return failed.ok() ? split : failed;
  }

  Status operator()(const pre::SpaceBefore&) const {
    return text.starts_with(' ') ? next(text, true) : next(fmt::format(" {}", text), true);
  }

  Status operator()(const pre::Metaspace& step) const {
    using Prepend = pre::Metaspace::Prepend;
    const bool wanted =
        step.prepend == Prepend::kAlways || (step.prepend == Prepend::kFirst && at_start);
    std::string marked = replace_all(text, " ", step.mark);
    if (wanted && !marked.starts_with(step.mark)) marked.insert(0, step.mark);
    if (!step.split) return next(marked, true);
    const std::string_view all = marked;
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = std::min(all.find(step.mark, begin + 1), all.size());
      if (Status done = next(all.substr(begin, end - begin), begin == 0); !done.ok()) return done;
      begin = end;
    }
    return {};
  }

  // `front`: the piece is the first of the text.
  Status next(std::string_view piece, bool front) const {
    return run_steps(rest, piece, at_start && front, word);
  }
};

Status run_steps(std::span<const PreStep> steps, std::string_view text, bool at_start, Word word) {
  if (text.empty()) return {};
  if (steps.empty()) {
    word(text);
    return {};
  }
  return std::visit(RunStep{steps.subspan(1), text, at_start, word}, steps.front());
}

}  // namespace

Status PreTokenizer::split(std::string_view section, bool at_start, Word word) const {
  return run_steps(steps_, section, at_start, word);
}

}  // namespace pando
