// Helpers that the parts of the evaluator share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "text/chat/jinja_eval.h"

namespace pando::jinja {

// One level of nesting.
class Evaluator::Deeper {
 public:
  explicit Deeper(Evaluator& in) : in_(in) {
    if (++in.depth_ <= in.limits_.depth) return;
    --in.depth_;
    throw JinjaError{
        fmt::format("the template goes deeper than the limit of {} levels", in.limits_.depth), 0,
        true};
  }
  ~Deeper() { --in_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Evaluator& in_;
};

// Redirects output into `into` while it lives.
class Evaluator::Capture {
 public:
  Capture(Evaluator& in, std::string& into) : in_(in), before_(std::exchange(in.out_, &into)) {}
  ~Capture() { in_.out_ = before_; }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  Evaluator& in_;
  std::string* before_;
};

struct Macro : Callable {
  const Stmt* stmt = nullptr;
  Ref<Frame> frame;
  Value call(Evaluator& in, const CallArgs& args) override {
    return in.text(in.call_macro(*stmt, frame, args));
  }
};

// Fails for a name that begins with an underline.
void set_field(Namespace& space, const std::string& name, Value value);

}  // namespace pando::jinja
