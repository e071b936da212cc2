#include "text/chat/jinja_scope.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace pando::jinja {
namespace {

enum class Begins { kParameter, kResolved, kAlias, kUndefined };
struct Beginning {
  Begins how;
  std::string name;
  Place from;
};

// Facts about one scope. The branches of an `if` share it: a name that one branch assigns keeps its
// value from before if another branch is taken.
struct Symbols {
  const Symbols* parent = nullptr;
  std::map<std::string, int>* slots = nullptr;  // of the frame
  std::set<std::string> known = {};             // names that this scope has a slot for
  std::map<int, Beginning> beginnings = {};
  std::set<std::string> stored = {};
  int n_branches = 0;  // that are inside each other here

  int slot(const std::string& name) const {
    return slots->try_emplace(name, static_cast<int>(slots->size())).first->second;
  }
  std::optional<Place> find(const std::string& name) const {
    int up = 0;
    for (const Symbols* at = this; at != nullptr; at = at->parent, ++up)
      if (at->known.contains(name)) return Place{up, at->slot(name)};
    return std::nullopt;
  }
  // Does the same for the outer scopes, counted from this one.
  std::optional<Place> find_outside(const std::string& name) const {
    if (parent == nullptr) return std::nullopt;
    std::optional<Place> place = parent->find(name);
    if (place) ++place->up;
    return place;
  }
  void define(const std::string& name, Beginning beginning) {
    known.insert(name);
    beginnings[slot(name)] = std::move(beginning);
  }
  int parameter(const std::string& name) {
    stored.insert(name);
    define(name, {Begins::kParameter, name, {}});
    return slot(name);
  }
  void load(const std::string& name) {
    if (!find(name)) define(name, {Begins::kResolved, name, {}});
  }
  void store(const std::string& name) {
    if (!stored.insert(name).second || known.contains(name)) return;
    const Begins otherwise = n_branches > 0 ? Begins::kResolved : Begins::kUndefined;
    const std::optional<Place> outside = find_outside(name);
    define(name,
           outside ? Beginning{Begins::kAlias, name, *outside} : Beginning{otherwise, name, {}});
  }
};

void each_argument(const Arguments& args, const std::function<void(Expr&)>& visit) {
  for (const ExprPtr& one : args.positional) visit(*one);
  for (const auto& [name, one] : args.named) visit(*one);
  if (args.list) visit(*args.list);
  if (args.dict) visit(*args.dict);
}

// ---- finding the names of a scope

void find_in(const Expr& expr, Symbols& symbols) {
  if (expr.kind == ExprKind::kName) symbols.load(expr.name);
  for (const ExprPtr& item : expr.items)
    if (item) find_in(*item, symbols);
  if (expr.args) each_argument(*expr.args, [&](Expr& arg) { find_in(arg, symbols); });
}

void find_target(const Expr& target, Symbols& symbols, bool as_parameter) {
  if (target.kind == ExprKind::kName) {
    if (as_parameter) {
      symbols.parameter(target.name);
    } else {
      symbols.store(target.name);
    }
  } else if (target.kind == ExprKind::kTuple) {
    for (const ExprPtr& item : target.items) find_target(*item, symbols, as_parameter);
  } else {
    find_in(target, symbols);
  }
}

void find_in(const Body& body, Symbols& symbols);

void find_in_if(const Stmt& stmt, Symbols& symbols) {
  for (const ExprPtr& expr : stmt.exprs) find_in(*expr, symbols);
  ++symbols.n_branches;
  for (const Body& body : stmt.bodies) find_in(body, symbols);
  --symbols.n_branches;
}

void find_in(const Body& body, Symbols& symbols) {
  for (const std::unique_ptr<Stmt>& stmt : body) {
    switch (stmt->kind) {
      case StmtKind::kText:
      case StmtKind::kScope:
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        break;
      case StmtKind::kOutput:
      case StmtKind::kCallBlock:
      case StmtKind::kWith:
        for (const ExprPtr& expr : stmt->exprs) find_in(*expr, symbols);
        break;
      case StmtKind::kIf:
        find_in_if(*stmt, symbols);
        break;
      case StmtKind::kFor:
        find_in(*stmt->exprs[0], symbols);
        break;
      case StmtKind::kSet:
        find_in(*stmt->exprs[0], symbols);
        find_target(*stmt->target, symbols, false);
        break;
      case StmtKind::kSetBlock:
        find_target(*stmt->target, symbols, false);
        break;
      case StmtKind::kMacro:
        symbols.store(stmt->macro->name);
        break;
      case StmtKind::kFilterBlock:
        find_in(*stmt->filter, symbols);
        break;
    }
  }
}

// True if the name is read anywhere inside, inner scopes included.
bool reads_name(const Expr& expr, std::string_view name) {
  bool found = expr.kind == ExprKind::kName && expr.name == name;
  for (const ExprPtr& item : expr.items) found = found || (item && reads_name(*item, name));
  if (expr.args)
    each_argument(*expr.args, [&](Expr& arg) { found = found || reads_name(arg, name); });
  return found;
}
bool reads_name(const Body& body, std::string_view name) {
  const auto any = [&](const std::vector<ExprPtr>& exprs) {
    return std::any_of(exprs.begin(), exprs.end(),
                       [&](const ExprPtr& expr) { return expr && reads_name(*expr, name); });
  };
  for (const std::unique_ptr<Stmt>& stmt : body) {
    if (any(stmt->exprs) || (stmt->filter && reads_name(*stmt->filter, name))) return true;
    if (stmt->macro)
      for (const Parameter& parameter : stmt->macro->parameters)
        if (parameter.fallback && reads_name(*parameter.fallback, name)) return true;
    for (const Body& inner : stmt->bodies)
      if (reads_name(inner, name)) return true;
  }
  return false;
}

bool stores_name(const Expr* target, std::string_view name) {
  if (target == nullptr) return false;
  if (target->kind == ExprKind::kName) return target->name == name;
  return target->kind == ExprKind::kTuple &&
         std::any_of(target->items.begin(), target->items.end(),
                     [&](const ExprPtr& item) { return stores_name(item.get(), name); });
}
bool stores_name(const Stmt& stmt, std::string_view name) {
  if (stores_name(stmt.target.get(), name)) return true;
  for (const Body& body : stmt.bodies)
    for (const std::unique_ptr<Stmt>& inner : body)
      if (stores_name(*inner, name)) return true;
  return false;
}

// ---- giving names their places

class Resolver {
 public:
  Root run(Body body) {
    Root root;
    std::map<std::string, int> slots;
    Symbols symbols{.slots = &slots};
    find_in(body, symbols);
    resolve(body, symbols);
    root.frame = shape_of(symbols);
    root.top_level_names.resize(slots.size());
    for (const auto& [name, slot] : slots) root.top_level_names[slot] = name;
    root.reads.assign(reads_.begin(), reads_.end());
    root.body = std::move(body);
    return root;
  }

 private:
  FrameShape shape_of(const Symbols& symbols) {
    FrameShape shape;
    shape.n_slots = static_cast<int>(symbols.slots->size());
    for (const auto& [slot, beginning] : symbols.beginnings) {
      if (beginning.how == Begins::kResolved) {
        shape.loads.push_back({LoadKind::kResolve, slot, beginning.name, {}});
        reads_.insert(beginning.name);
      } else if (beginning.how == Begins::kAlias) {
        shape.loads.push_back({LoadKind::kAlias, slot, beginning.name, beginning.from});
      }
    }
    return shape;
  }

  // A scope inside of `parent`: `find` says what names it has, `resolve` gives the places in it.
  FrameShape inner(const Symbols* parent, const std::function<void(Symbols&)>& find,
                   const std::function<void(Symbols&)>& resolve) {
    std::map<std::string, int> slots;
    Symbols symbols{.parent = parent, .slots = &slots};
    find(symbols);
    resolve(symbols);
    return shape_of(symbols);
  }

  void resolve(Expr& expr, Symbols& symbols) {
    if (expr.kind == ExprKind::kName) {
      symbols.load(expr.name);  // known by now, but for what an unusual place of a name hides
      expr.place = *symbols.find(expr.name);
    }
    for (const ExprPtr& item : expr.items)
      if (item) resolve(*item, symbols);
    if (expr.args) each_argument(*expr.args, [&](Expr& arg) { resolve(arg, symbols); });
  }

  void resolve_for(Stmt& stmt, Symbols& symbols) {
    if (stores_name(stmt, "loop"))
      fail_at(stmt.line, "a loop assigns to 'loop', expected another name");
    resolve(*stmt.exprs[0], symbols);
    stmt.frame = inner(
        &symbols,
        [&](Symbols& in) {
          stmt.loop_slot = in.parameter("loop");
          find_target(*stmt.target, in, true);
          find_in(stmt.bodies[0], in);
        },
        [&](Symbols& in) {
          resolve(*stmt.target, in);
          resolve(stmt.bodies[0], in);
        });
    if (!stmt.recursive && !reads_name(stmt.bodies[0], "loop")) stmt.loop_slot = -1;
    stmt.else_frame = inner(
        &symbols, [&](Symbols& in) { find_in(stmt.bodies[1], in); },
        [&](Symbols& in) { resolve(stmt.bodies[1], in); });
    if (!stmt.exprs[1]) return;
    stmt.test_frame = inner(
        &symbols,
        [&](Symbols& in) {
          find_target(*stmt.test_target, in, true);
          find_in(*stmt.exprs[1], in);
        },
        [&](Symbols& in) {
          resolve(*stmt.test_target, in);
          resolve(*stmt.exprs[1], in);
        });
  }

  void resolve_macro(Stmt& stmt, Symbols& symbols) {
    MacroShape& macro = *stmt.macro;
    const Body& body = stmt.bodies[0];
    const auto has = [&](std::string_view name) {
      return std::any_of(macro.parameters.begin(), macro.parameters.end(),
                         [&](const Parameter& parameter) { return parameter.name == name; });
    };
    macro.explicit_caller = has("caller");
    for (const Parameter& parameter : macro.parameters)
      if (parameter.name == "caller" && !parameter.fallback && reads_name(body, "caller"))
        fail_at(stmt.line, "the parameter 'caller' must be left out or have a default");
    macro.frame = inner(
        &symbols,
        [&](Symbols& in) {
          for (Parameter& parameter : macro.parameters)
            parameter.slot = in.parameter(parameter.name);
          const auto special = [&](const char* name) {
            return !has(name) && reads_name(body, name) ? in.parameter(name) : -1;
          };
          macro.caller_slot = special("caller");
          macro.kwargs_slot = special("kwargs");
          macro.varargs_slot = special("varargs");
          for (const Parameter& parameter : macro.parameters)
            if (parameter.fallback) find_in(*parameter.fallback, in);
          find_in(body, in);
        },
        [&](Symbols& in) {
          for (const Parameter& parameter : macro.parameters)
            if (parameter.fallback) resolve(*parameter.fallback, in);
          resolve(stmt.bodies[0], in);
        });
  }

  // The body of a set block, a filter block, a with, a scope.
  void resolve_inner_body(Stmt& stmt, Symbols& symbols) {
    stmt.frame = inner(
        stmt.isolated ? nullptr : &symbols,
        [&](Symbols& in) {
          for (const ExprPtr& target : stmt.targets) find_target(*target, in, true);
          find_in(stmt.bodies[0], in);
          if (stmt.filter) find_in(*stmt.filter, in);
        },
        [&](Symbols& in) {
          for (const ExprPtr& target : stmt.targets) resolve(*target, in);
          resolve(stmt.bodies[0], in);
          if (stmt.filter) resolve(*stmt.filter, in);
        });
  }

  void resolve(Stmt& stmt, Symbols& symbols) {
    switch (stmt.kind) {
      case StmtKind::kIf:
        for (const ExprPtr& expr : stmt.exprs) resolve(*expr, symbols);
        for (Body& body : stmt.bodies) resolve(body, symbols);
        break;
      case StmtKind::kFor:
        resolve_for(stmt, symbols);
        break;
      case StmtKind::kMacro:
        stmt.place = *symbols.find(stmt.macro->name);
        resolve_macro(stmt, symbols);
        break;
      case StmtKind::kCallBlock:
        resolve(*stmt.exprs[0], symbols);
        resolve_macro(stmt, symbols);
        break;
      case StmtKind::kSetBlock:
      case StmtKind::kFilterBlock:
      case StmtKind::kWith:
      case StmtKind::kScope:
        for (const ExprPtr& expr : stmt.exprs) resolve(*expr, symbols);
        if (stmt.target) resolve(*stmt.target, symbols);
        resolve_inner_body(stmt, symbols);
        break;
      default:
        for (const ExprPtr& expr : stmt.exprs) resolve(*expr, symbols);
        if (stmt.target) resolve(*stmt.target, symbols);
    }
  }
  void resolve(Body& body, Symbols& symbols) {
    for (const std::unique_ptr<Stmt>& stmt : body) resolve(*stmt, symbols);
  }

  std::set<std::string> reads_;
};

}  // namespace

Root resolve_names(Body body) { return Resolver().run(std::move(body)); }

}  // namespace pando::jinja
