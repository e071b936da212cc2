// Evaluation of statements.
#include "text/chat/jinja_eval.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/chat/jinja_guard.h"
#include "text/chat/jinja_iterators.h"

namespace pando::jinja {

Evaluator::Evaluator(const Root& root, const Variables& variables, const Limits& limits,
                     const LocalTime& now)
    : root_(root), limits_(limits), now_(now) {
  for (const auto& [name, value] : variables) variables_.try_emplace(name, &value);
  budget_.most_steps = limits.n_steps;
  budget_.most_bytes = limits.memory_bytes;
  budget_.most_value_bytes = limits.value_bytes;
}

// Breaks the reference cycles of values that may hold themselves, to free them.
Evaluator::~Evaluator() {
  for (const Ref<Frame>& frame : kept_frames_) frame->slots.clear();
  for (const Value& value : kept_) {
    if (value.is(Kind::kNamespace)) value.as<Namespace>().fields.clear();
    if (value.is(Kind::kLoop)) value.as<Loop>().last_changed = Value();
  }
}

std::string Evaluator::run() {
  std::string out;
  out_ = &out;
  top_ = make_frame(root_.frame, Ref<Frame>());
  run_body(root_.body, top_);
  return out;
}

std::string Evaluator::printed(const Value& v) {
  std::string out = to_text(v);
  if (v.is(Kind::kString)) {
    scan(out.size());
  } else {
    walk(out.size());
  }
  return out;
}

Value Evaluator::keep(Kind kind, Object* object) {
  Value value = Value::of(kind, object);
  object->charge(&budget_, 512);
  kept_.push_back(value);
  return value;
}

std::string Evaluator::repr(const Value& v) {
  std::string out = to_repr(v);
  walk(out.size());
  return out;
}

void Evaluator::keep_frames(const Ref<Frame>& frame) {
  if (frame->kept) return;
  frame->kept = true;
  kept_frames_.push_back(frame);
}

Value Evaluator::resolve(const std::string& name) const {
  const auto found = variables_.find(name);
  return found != variables_.end() ? *found->second : find_global(name);
}

Ref<Frame> Evaluator::make_frame(const FrameShape& shape, const Ref<Frame>& parent) {
  step(1 + static_cast<size_t>(shape.n_slots) / 8 + shape.loads.size());
  const Ref<Frame> frame = make_ref<Frame>();
  frame->charge(&budget_, sizeof(Frame) + shape.n_slots * sizeof(Value));
  frame->parent = parent;
  frame->slots.resize(shape.n_slots);
  for (const Load& load : shape.loads)
    frame->slots[load.slot] =
        load.kind == LoadKind::kAlias ? at(frame, load.from) : resolve(load.name);
  if (parent || !top_) return frame;
  // A `block` also sees names that the template has assigned outside of all loops.
  for (const Load& load : shape.loads) {
    step(root_.top_level_names.size() / 8);
    const auto found =
        std::find(root_.top_level_names.begin(), root_.top_level_names.end(), load.name);
    if (found == root_.top_level_names.end()) continue;
    const Value& value = top_->slots[found - root_.top_level_names.begin()];
    if (!value.missing()) frame->slots[load.slot] = value;
  }
  return frame;
}

Value& Evaluator::at(const Ref<Frame>& frame, Place place) {
  Frame* in = frame.get();
  for (int up = place.up; up > 0; --up) in = in->parent.get();
  return in->slots[place.slot];
}

void Evaluator::write(std::string_view text) {
  step(text.size() / 256);
  if (out_->size() + text.size() > limits_.output_bytes)
    throw JinjaError{
        fmt::format("the text is longer than the limit of {} bytes", limits_.output_bytes), 0,
        true};
  out_->append(text);
}

Evaluator::Flow Evaluator::run_body(const Body& body, const Ref<Frame>& frame) {
  for (const std::unique_ptr<Stmt>& stmt : body)
    if (const Flow flow = run_statement(*stmt, frame); flow != Flow::kNormal) return flow;
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::run_statement(const Stmt& stmt, const Ref<Frame>& frame) {
  const Deeper deeper(*this);
  step();
  line_ = stmt.line;
  switch (stmt.kind) {
    case StmtKind::kText:
      write(stmt.text);
      return Flow::kNormal;
    case StmtKind::kOutput:
      for (const ExprPtr& expr : stmt.exprs) {
        Value value = expr->folds ? fold(*expr) : Value();
        if (value.missing()) value = eval(*expr, frame);
        if (value.is(Kind::kString)) {
          write(text_of(value));
        } else {
          write(printed(value));
        }
      }
      return Flow::kNormal;
    case StmtKind::kIf:
      return run_if(stmt, frame);
    case StmtKind::kFor:
      return run_for(stmt, frame);
    case StmtKind::kSet:
      assign(*stmt.target, eval(*stmt.exprs[0], frame), frame);
      return Flow::kNormal;
    case StmtKind::kSetBlock:
      return run_set_block(stmt, frame);
    case StmtKind::kMacro:
      define_macro(stmt, frame);
      return Flow::kNormal;
    case StmtKind::kCallBlock:
      run_call_block(stmt, frame);
      return Flow::kNormal;
    case StmtKind::kFilterBlock:
      return run_filter_block(stmt, frame);
    case StmtKind::kWith:
      return run_with(stmt, frame);
    case StmtKind::kScope:
      return run_body(stmt.bodies[0], make_frame(stmt.frame, stmt.isolated ? Ref<Frame>() : frame));
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::run_if(const Stmt& stmt, const Ref<Frame>& frame) {
  for (size_t i = 0; i < stmt.exprs.size(); ++i)
    if (truth(eval(*stmt.exprs[i], frame))) return run_body(stmt.bodies[i], frame);
  if (stmt.bodies.size() > stmt.exprs.size()) return run_body(stmt.bodies.back(), frame);
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::run_for(const Stmt& stmt, const Ref<Frame>& frame) {
  const Value iterable = eval(*stmt.exprs[0], frame);
  return run_loop(stmt, frame, iterable, 0);
}

Evaluator::Flow Evaluator::run_loop(const Stmt& stmt, const Ref<Frame>& frame,
                                    const Value& iterable, int64_t depth0) {
  const Ref<Loop> loop = make_ref<Loop>();
  loop->iterator = iterate(iterable);
  loop->depth = std::min(iterable.depth() + 1, kDeepestValue);
  loop->depth0 = depth0;
  if (stmt.exprs[1]) {
    loop->iterator = Ref<Iterator>(make_filtered(loop->iterator, stmt, frame).get());
  } else {
    loop->known_length = length_of(iterable);
  }
  if (stmt.recursive) {
    loop->stmt = &stmt;
    loop->outside = frame;
  }
  const Value loop_value = Value::of(Kind::kLoop, loop);
  bool ran_to_end = false;  // of the body, at least once
  while (loop->next(*this)) {
    const Ref<Frame> inside = make_frame(stmt.frame, frame);
    if (stmt.loop_slot >= 0) inside->slots[stmt.loop_slot] = loop_value;
    assign(*stmt.target, loop->current, inside);
    const Flow flow = run_body(stmt.bodies[0], inside);
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNormal) ran_to_end = true;
  }
  if (ran_to_end || stmt.bodies[1].empty()) return Flow::kNormal;
  return run_body(stmt.bodies[1], make_frame(stmt.else_frame, frame));
}

bool Evaluator::passes(const Stmt& stmt, const Ref<Frame>& outside, const Value& item) {
  const Ref<Frame> frame = make_frame(stmt.test_frame, outside);
  assign(*stmt.test_target, item, frame);
  return truth(eval(*stmt.exprs[1], frame));
}

std::string Evaluator::recurse(const Loop& loop, const Value& iterable) {
  if (loop.stmt == nullptr) fail("the loop must be marked 'recursive' to be called");
  std::string out;
  const Capture capture(*this, out);
  const Deeper deeper(*this);
  run_loop(*loop.stmt, loop.outside, iterable, loop.depth0 + 1);
  return out;
}

void Evaluator::assign(const Expr& target, Value value, const Ref<Frame>& frame) {
  if (target.kind == ExprKind::kName) {
    at(frame, target.place) = std::move(value);
  } else if (target.kind == ExprKind::kField) {
    const Value space = at(frame, target.items[0]->place);
    if (!space.is(Kind::kNamespace))
      fail("cannot assign to a field of a value that is not a namespace");
    step(space.as<Namespace>().fields.size() / 8);
    set_field(space.as<Namespace>(), target.name, std::move(value));
  } else {
    const std::vector<Value> items = elements(value);
    if (items.size() != target.items.size())
      fail(fmt::format("{} values to unpack, expected {}", items.size(), target.items.size()));
    for (size_t i = 0; i < items.size(); ++i) assign(*target.items[i], items[i], frame);
  }
}

Evaluator::Flow Evaluator::run_set_block(const Stmt& stmt, const Ref<Frame>& frame) {
  const Ref<Frame> inside = make_frame(stmt.frame, frame);
  std::string body;
  {
    const Capture capture(*this, body);
    if (const Flow flow = run_body(stmt.bodies[0], inside); flow != Flow::kNormal) return flow;
  }
  Value value = text(std::move(body));
  if (stmt.filter) value = eval_filter(*stmt.filter, inside, &value);
  assign(*stmt.target, std::move(value), frame);
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::run_filter_block(const Stmt& stmt, const Ref<Frame>& frame) {
  const Ref<Frame> inside = make_frame(stmt.frame, frame);
  std::string body;
  {
    const Capture capture(*this, body);
    if (const Flow flow = run_body(stmt.bodies[0], inside); flow != Flow::kNormal) return flow;
  }
  const Value value = text(std::move(body));
  write(printed(eval_filter(*stmt.filter, inside, &value)));
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::run_with(const Stmt& stmt, const Ref<Frame>& frame) {
  const Ref<Frame> inside = make_frame(stmt.frame, frame);
  for (size_t i = 0; i < stmt.targets.size(); ++i)
    assign(*stmt.targets[i], eval(*stmt.exprs[i], frame), inside);
  return run_body(stmt.bodies[0], inside);
}

void Evaluator::define_macro(const Stmt& stmt, const Ref<Frame>& frame) {
  at(frame, stmt.place) = make_macro(stmt, frame);
}

Value Evaluator::make_macro(const Stmt& stmt, const Ref<Frame>& frame) {
  for (Frame* at = frame.get(); at != nullptr; at = at->parent.get()) keep_frames(Ref<Frame>(at));
  const Ref<Macro> macro = make_ref<Macro>();
  macro->charge(&budget_, sizeof(Macro));
  macro->name = stmt.macro->name;
  macro->stmt = &stmt;
  macro->frame = frame;
  return Value::of(Kind::kCallable, macro);
}

void Evaluator::run_call_block(const Stmt& stmt, const Ref<Frame>& frame) {
  const Expr& call_expr = *stmt.exprs[0];
  const Value callee = eval(*call_expr.items[0], frame);
  CallArgs args = eval_args(*call_expr.args, frame);
  args.named.emplace_back("caller", make_macro(stmt, frame));
  line_ = call_expr.line;
  write(printed(call(callee, args)));
}

// Binds arguments as Jinja's Macro.__call__ does.
void Evaluator::bind(const Stmt& stmt, const Ref<Frame>& in, const CallArgs& args) {
  const MacroShape& macro = *stmt.macro;
  const size_t n = macro.parameters.size();
  std::vector<bool> used(args.named.size());
  const auto take = [&](std::string_view name) -> const Value* {
    step(args.named.size() / 8);
    for (size_t i = 0; i < args.named.size(); ++i) {
      if (used[i] || args.named[i].first != name) continue;
      used[i] = true;
      return &args.named[i].second;
    }
    return nullptr;
  };
  for (size_t i = 0; i < n; ++i) {
    const Parameter& parameter = macro.parameters[i];
    if (i < args.positional.size()) {
      in->slots[parameter.slot] = args.positional[i];
    } else if (const Value* given = take(parameter.name)) {
      in->slots[parameter.slot] = *given;
    }
  }
  if (macro.caller_slot >= 0) {
    const Value* caller = take("caller");
    in->slots[macro.caller_slot] =
        caller != nullptr ? *caller : make_undefined("No caller defined");
  }
  const std::string name = macro.name.empty() ? "caller" : macro.name;
  const Ref<Dict> kwargs = make_ref<Dict>();
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i]) {
      if (macro.kwargs_slot < 0)
        fail(fmt::format("macro '{}' takes no argument named '{}'", name, args.named[i].first));
      kwargs->set(text(args.named[i].first), args.named[i].second, &budget_);
    }
  if (macro.kwargs_slot >= 0) in->slots[macro.kwargs_slot] = make_dict(kwargs, &budget_);
  if (args.positional.size() > n && macro.varargs_slot < 0)
    fail(fmt::format("macro '{}' takes at most {} arguments, {} are given", name, n,
                     args.positional.size()));
  if (macro.varargs_slot >= 0)
    in->slots[macro.varargs_slot] =
        list({args.positional.begin() + std::min(n, args.positional.size()), args.positional.end()},
             Kind::kTuple);
}

std::string Evaluator::call_macro(const Stmt& stmt, const Ref<Frame>& outside,
                                  const CallArgs& args) {
  const Deeper deeper(*this);
  const Ref<Frame> frame = make_frame(stmt.macro->frame, outside);
  bind(stmt, frame, args);
  std::string out;
  const Capture capture(*this, out);
  for (const Parameter& parameter : stmt.macro->parameters) {
    Value& slot = frame->slots[parameter.slot];
    if (!slot.missing()) continue;
    Value value =
        parameter.fallback
            ? eval(*parameter.fallback, frame)
            : make_undefined(fmt::format("parameter '{}' was not provided", parameter.name));
    frame->slots[parameter.slot] = std::move(value);
  }
  run_body(stmt.bodies[0], frame);
  return out;
}

}  // namespace pando::jinja
