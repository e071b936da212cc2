// One rendering of a template: walks the tree, within limits. One thread; made for each rendering.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/chat/jinja.h"
#include "text/chat/jinja_ast.h"
#include "text/chat/jinja_call.h"

namespace pando::jinja {

// The variables of one run of a scope.
struct Frame : Object {
  Ref<Frame> parent;
  std::vector<Value> slots;
  bool kept = false;  // until the rendering ends, since a macro in it knows it
};

struct Loop : Object {
  Ref<Iterator> iterator;
  int64_t known_length = -1;
  int64_t index0 = -1;
  Value after, current, before;  // missing where there is none
  Value last_changed;
  bool is_kept = false;  // until the rendering ends, since last_changed may hold the loop itself
  int64_t depth0 = 0;
  const Stmt* stmt = nullptr;  // of a recursive loop
  Ref<Frame> outside;

  bool next(Evaluator& in);          // to the next item
  const Value& peek(Evaluator& in);  // the item after; missing at the end
  int64_t length(Evaluator& in);
};

class Evaluator {
 public:
  Evaluator(const Root& root, const Variables& variables, const Limits& limits,
            const LocalTime& now);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  std::string run();
  int line() const { return line_; }
  const LocalTime& now() const { return now_; }

  // ---- for filters, methods and functions

  void step(size_t n = 1) { budget_.step(n); }  // throws where there were too many
  // scan: bytes that are copied, compared or searched. walk: bytes of a text that is read by
  // characters.
  void scan(size_t n_bytes) { step(n_bytes / 64); }
  void walk(size_t n_bytes) { step(n_bytes / 8); }
  size_t most_bytes() const { return budget_.most_value_bytes; }
  Budget* budget() { return &budget_; }
  Value text(std::string bytes, bool markup = false) {
    step(bytes.size() / 256);
    return make_string(std::move(bytes), &budget_, markup);
  }
  Value text_like(const Value& other, std::string bytes) {
    return text(std::move(bytes), other.is_markup());
  }
  Value list(std::vector<Value> items, Kind kind = Kind::kList) {
    step(items.size() / 8);
    return make_list(std::move(items), &budget_, kind);
  }
  Value keep(Kind kind, Object* object);  // something that could hold itself: until the end

  Value call(const Value& callee, const CallArgs& args);
  Value attribute(const Value& of, const Value& name);  // a.name
  Value item(const Value& of, const Value& key);        // a[key]
  Value slice(const Value& of, const Value& begin, const Value& end, const Value& by);
  bool contains(const Value& container, const Value& v);
  Ref<Iterator> iterate(const Value& v);
  std::vector<Value> elements(const Value& v);
  std::string printed(const Value& v);  // str()
  std::string repr(const Value& v);
  Value binary(ExprKind op, const Value& a, const Value& b);
  Value add(const Value& a, const Value& b);

  std::string call_macro(const Stmt& stmt, const Ref<Frame>& frame, const CallArgs& args);
  std::string recurse(const Loop& loop, const Value& iterable);

  // A condition of a loop, for one item of it.
  bool passes(const Stmt& stmt, const Ref<Frame>& outside, const Value& item);

 private:
  enum class Flow { kNormal, kBreak, kContinue };
  class Deeper;
  class Capture;

  Ref<Frame> make_frame(const FrameShape& shape, const Ref<Frame>& parent);
  Value resolve(const std::string& name) const;
  static Value& at(const Ref<Frame>& frame, Place place);
  void keep_frames(const Ref<Frame>& frame);
  void write(std::string_view text);

  Flow run_body(const Body& body, const Ref<Frame>& frame);
  Flow run_statement(const Stmt& stmt, const Ref<Frame>& frame);
  Flow run_if(const Stmt& stmt, const Ref<Frame>& frame);
  Flow run_for(const Stmt& stmt, const Ref<Frame>& frame);
  Flow run_loop(const Stmt& stmt, const Ref<Frame>& frame, const Value& iterable, int64_t depth0);
  Flow run_set_block(const Stmt& stmt, const Ref<Frame>& frame);
  Flow run_filter_block(const Stmt& stmt, const Ref<Frame>& frame);
  Flow run_with(const Stmt& stmt, const Ref<Frame>& frame);
  void run_call_block(const Stmt& stmt, const Ref<Frame>& frame);
  void define_macro(const Stmt& stmt, const Ref<Frame>& frame);
  Value make_macro(const Stmt& stmt, const Ref<Frame>& frame);
  void bind(const Stmt& stmt, const Ref<Frame>& in, const CallArgs& args);
  void assign(const Expr& target, Value value, const Ref<Frame>& frame);

  Value eval(const Expr& expr, const Ref<Frame>& frame);
  Value compute(const Expr& expr, const Ref<Frame>& frame);
  Value fold(const Expr& expr);  // missing where Jinja2 does not compute it when it compiles
  Value eval_name(const Expr& expr, const Ref<Frame>& frame);
  Value eval_call(const Expr& expr, const Ref<Frame>& frame);
  Value eval_filter(const Expr& expr, const Ref<Frame>& frame, const Value* input);
  Value eval_test(const Expr& expr, const Ref<Frame>& frame);
  Value eval_compare(const Expr& expr, const Ref<Frame>& frame);
  Value eval_dict(const Expr& expr, const Ref<Frame>& frame);
  Value eval_slice(const Expr& expr, const Ref<Frame>& frame);
  Value eval_concat(const Expr& expr, const Ref<Frame>& frame);
  Value eval_if(const Expr& expr, const Ref<Frame>& frame);
  Value eval_unary(const Expr& expr, const Ref<Frame>& frame);
  bool compare(CompareOp op, const Value& a, const Value& b);
  CallArgs eval_args(const Arguments& args, const Ref<Frame>& frame);
  std::vector<Value> eval_all(const std::vector<ExprPtr>& exprs, const Ref<Frame>& frame);

  const Root& root_;
  std::unordered_map<std::string_view, const Value*> variables_;
  const Limits limits_;
  const LocalTime& now_;
  Budget budget_;
  int depth_ = 0;
  int line_ = 0;
  bool is_folding_ = false;
  std::string* out_ = nullptr;
  Ref<Frame> top_;
  std::vector<Ref<Frame>> kept_frames_;
  std::vector<Value> kept_;
};

}  // namespace pando::jinja
