#include "text/decoder_run.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "text/normalizer.h"
#include "text/utf8.h"

namespace pando {

// A text arrives between begin() and end(), in parts of whole characters. A step passes on all that
// no later part can change.
class DecoderRun::Step {
 public:
  explicit Step(Step* next) : next_(next) {}
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  virtual void begin() { next_->begin(); }
  virtual void text(std::string_view part) { next_->text(part); }
  virtual void end(bool ends) { next_->end(ends); }  // false: more of the text follows later
  virtual void finish(bool ends) { next_->finish(ends); }

 protected:
  void pass(std::string_view text, bool ends = true) {
    next_->begin();
    next_->text(text);
    next_->end(ends);
  }
  Step* const next_;
};

namespace {

using RunStep = DecoderRun::Step;

class Written final : public RunStep {
 public:
  Written() : RunStep(nullptr) {}
  void begin() override {}
  void text(std::string_view part) override { text_ += part; }
  void end(bool) override {}
  void finish(bool) override {}
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

class BytesStep final : public RunStep {
 public:
  BytesStep(const decoding::ByteFallback&, RunStep* next) : RunStep(next) {}

  void begin() override { held_ = std::string(); }
  void text(std::string_view part) override {
    if (!held_) return next_->text(part);
    *held_ += part;
    if (held_->size() > kByteText) let_go();
  }
  void end(bool ends) override {
    const std::optional<char> byte = held_ ? byte_of_piece(*held_) : std::nullopt;
    if (!byte) {
      if (held_) let_go();
      return next_->end(ends);
    }
    if (!std::exchange(in_bytes_, true)) next_->begin();
    bytes_ += *byte;
    std::string text;
    take_characters(&bytes_, &text);
    next_->text(text);
  }
  void finish(bool ends) override {
    end_bytes();
    next_->finish(ends);
  }

 private:
  static constexpr size_t kByteText = 6;  // "<0x0A>"

  void let_go() {
    end_bytes();
    next_->begin();
    next_->text(*held_);
    held_.reset();
  }
  void end_bytes() {
    if (!std::exchange(in_bytes_, false)) return;
    if (!std::exchange(bytes_, {}).empty()) next_->text(kReplacementCharacter);
    next_->end(true);
  }

  std::optional<std::string> held_;  // the beginning of a text that may be a byte
  bool in_bytes_ = false;
  std::string bytes_;  // no whole character yet
};

class FuseStep final : public RunStep {
 public:
  FuseStep(const decoding::Fuse& fuse, RunStep* next) : RunStep(next), of_bytes_(fuse.of_bytes) {}

  void begin() override {
    if (!std::exchange(begun_, true)) next_->begin();
  }
  void text(std::string_view part) override {
    if (!of_bytes_) return next_->text(part);
    bytes_ += part;
    std::string text;
    take_characters(&bytes_, &text);
    next_->text(text);
  }
  void end(bool) override {}
  void finish(bool ends) override {
    if (std::exchange(begun_, false)) {
      if (!std::exchange(bytes_, {}).empty()) next_->text(kReplacementCharacter);
      next_->end(ends);
    }
    next_->finish(ends);
  }

 private:
  const bool of_bytes_;
  bool begun_ = false;
  std::string bytes_;  // no whole character yet
};

class ReplaceStep final : public RunStep {
 public:
  ReplaceStep(const decoding::Replace& replace, RunStep* next) : RunStep(next), replace_(replace) {}

  void text(std::string_view part) override {
    const auto& [from, to] = replace_;
    const std::string all = std::exchange(held_, {}).append(part);
    std::string out;
    size_t done = 0;
    for (size_t at = 0; (at = all.find(from, done)) != all.npos; done = at + from.size())
      out.append(all, done, at - done).append(to);
    const std::string_view rest = std::string_view(all).substr(done);
    size_t n_held = std::min(from.size() - 1, rest.size());
    while (!from.starts_with(rest.substr(rest.size() - n_held))) --n_held;
    out += rest.substr(0, rest.size() - n_held);
    held_ = rest.substr(rest.size() - n_held);
    next_->text(out);
  }
  void end(bool ends) override {
    next_->text(std::exchange(held_, {}));
    next_->end(ends);
  }

 private:
  const decoding::Replace replace_;
  std::string held_;  // may be the beginning of `from`
};

// A step that reads a text as a whole.
class WholeStep : public RunStep {
 public:
  using RunStep::RunStep;
  void begin() override { text_.clear(); }
  void text(std::string_view part) override { text_ += part; }

 protected:
  std::string text_;
};

class MatchesStep final : public WholeStep {
 public:
  MatchesStep(const decoding::ReplaceMatches& step, RunStep* next) : WholeStep(next), step_(step) {}

  void end(bool ends) override {
    std::string out;
    const Status done = step_.pattern.split(
        text_, [&](std::string_view piece, bool matches) { out += matches ? step_.to : piece; });
    pass(done.ok() ? out : text_, ends);
  }

 private:
  const decoding::ReplaceMatches step_;
};

class StripStep final : public RunStep {
 public:
  // `goes_on`: the text has already begun.
  StripStep(const decoding::Strip& strip, RunStep* next, bool goes_on)
      : RunStep(next), strip_(strip), goes_on_(goes_on) {}

  void begin() override {
    n_left_ = goes_on_ ? 0 : strip_.start;
    n_held_ = 0;
    next_->begin();
  }
  void text(std::string_view part) override {
    std::string out;
    while (!part.empty()) {
      const std::string_view character = part.substr(0, utf8_length(part.front()));
      part.remove_prefix(character.size());
      if (character != strip_.character) {
        n_left_ = 0;
        for (; n_held_ > 0; --n_held_) out += strip_.character;
        out += character;
      } else if (n_left_ > 0) {
        --n_left_;
      } else if (n_held_ < strip_.stop) {
        ++n_held_;
      } else {
        out += character;
      }
    }
    next_->text(out);
  }
  void end(bool ends) override {
    for (; !ends && n_held_ > 0; --n_held_) next_->text(strip_.character);
    next_->end(ends);
  }

 private:
  const decoding::Strip strip_;
  const bool goes_on_;
  size_t n_left_ = 0;  // characters that may still be removed at the start
  size_t n_held_ = 0;  // characters to remove if the text ends
};

class MetaspaceStep final : public RunStep {
 public:
  MetaspaceStep(const decoding::Metaspace& step, RunStep* next, bool goes_on)
      : RunStep(next), mark_(step.mark), is_first_(!goes_on) {}

  void begin() override {
    to_ = std::exchange(is_first_, false) ? "" : " ";
    next_->begin();
  }
  void text(std::string_view part) override { next_->text(replace_all(part, mark_, to_)); }

 private:
  const std::string mark_;
  bool is_first_;
  std::string_view to_;
};

class WordPieceStep final : public WholeStep {
 public:
  WordPieceStep(const decoding::WordPiece& step, RunStep* next, bool goes_on)
      : WholeStep(next), prefix_(step.prefix), is_first_(!goes_on) {}

  void end(bool ends) override {
    const bool is_first = std::exchange(is_first_, false);
    if (!is_first && text_.starts_with(prefix_))
      text_.erase(0, prefix_.size());
    else if (!is_first)
      text_ = ' ' + text_;
    pass(text_, ends);
  }

 private:
  const std::string prefix_;
  bool is_first_;
};

class WordEndsStep final : public WholeStep {
 public:
  WordEndsStep(const decoding::WordEnds& step, RunStep* next)
      : WholeStep(next), suffix_(step.suffix) {}

  void begin() override {
    let_go(" ");
    WholeStep::begin();
  }
  void end(bool) override { is_held_ = true; }
  void finish(bool ends) override {
    let_go(ends ? "" : " ");
    next_->finish(ends);
  }

 private:
  void let_go(std::string_view to) {
    if (std::exchange(is_held_, false)) pass(replace_all(text_, suffix_, to));
  }

  const std::string suffix_;
  bool is_held_ = false;  // the previous text waits: it may be the last one
};

class CtcStep final : public WholeStep {
 public:
  CtcStep(const decoding::Ctc& step, RunStep* next) : WholeStep(next), step_(step) {}

  void end(bool) override {
    if (text_ == last_) return;
    last_ = text_;
    for (const auto& [from, to] : step_.replaced) text_ = replace_all(text_, from, to);
    if (!text_.empty()) pass(text_);
  }

 private:
  const decoding::Ctc step_;
  std::optional<std::string> last_;
};

// Makes steps. Tells steps that treat the beginning of a text differently whether it has begun.
struct Make {
  RunStep* next;
  bool goes_on;
  bool is_fused;
  using Made = std::unique_ptr<RunStep>;

  Made operator()(const decoding::ByteFallback& s) const { return make<BytesStep>(s); }
  Made operator()(const decoding::Fuse& s) const { return make<FuseStep>(s); }
  Made operator()(const decoding::Replace& s) const { return make<ReplaceStep>(s); }
  Made operator()(const decoding::ReplaceMatches& s) const { return make<MatchesStep>(s); }
  Made operator()(const decoding::Strip& s) const {
    return make<StripStep>(s, goes_on && is_fused);
  }
  Made operator()(const decoding::Metaspace& s) const { return make<MetaspaceStep>(s, goes_on); }
  Made operator()(const decoding::WordPiece& s) const { return make<WordPieceStep>(s, goes_on); }
  Made operator()(const decoding::WordEnds& s) const { return make<WordEndsStep>(s); }
  Made operator()(const decoding::Ctc& s) const { return make<CtcStep>(s); }

  template <class T, class... Args>
  Made make(const auto& step, Args... args) const {
    return std::make_unique<T>(step, next, args...);
  }
};

}  // namespace

std::optional<char> byte_of_piece(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  unsigned char byte = 0;
  const char *const begin = text.data() + 3, *const end = begin + 2;
  const auto read = std::from_chars(begin, end, byte, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return static_cast<char>(byte);
}

DecoderRun::DecoderRun(const std::vector<DecoderStep>& steps, bool first_in_text) {
  const auto is_fuse = [](const DecoderStep& step) {
    return std::holds_alternative<decoding::Fuse>(step);
  };
  const auto n_apart =
      static_cast<size_t>(std::find_if(steps.begin(), steps.end(), is_fuse) - steps.begin());
  steps_.push_back(std::make_unique<Written>());
  for (size_t i = steps.size(); i-- > 0;)
    steps_.push_back(std::visit(Make{steps_.back().get(), !first_in_text, i > n_apart}, steps[i]));
}

DecoderRun::~DecoderRun() = default;
DecoderRun::DecoderRun(DecoderRun&& other) noexcept = default;
DecoderRun& DecoderRun::operator=(DecoderRun&& other) noexcept = default;

std::string DecoderRun::push(std::string_view piece) {
  Step& first = *steps_.back();
  first.begin();
  first.text(piece);
  first.end(true);
  return static_cast<Written&>(*steps_.front()).take();
}

std::string DecoderRun::finish(bool ends) {
  steps_.back()->finish(ends);
  return static_cast<Written&>(*steps_.front()).take();
}

}  // namespace pando
