// A template as a tree. Immutable once compiled; names are places in frames (jinja_scope.h).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/chat/jinja_value.h"

namespace pando::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Body = std::vector<std::unique_ptr<Stmt>>;

enum class ExprKind : uint8_t {
  kConst,
  kName,
  kList,
  kTuple,
  kDict,    // items: key, value, key, value, ...
  kAttr,    // items[0].name
  kItem,    // items[0][items[1]]
  kSlice,   // items[0][items[1]:items[2]:items[3]]; null where left out
  kCall,    // items[0](args)
  kFilter,  // items[0] | name(args); null in a filter block
  kTest,    // items[0] is name(args)
  kNot,
  kNegative,
  kPositive,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kConcat,  // of two and more
  kAnd,
  kOr,
  kCompare,  // items[0] ops[0] items[1] ops[1] ...
  kIf,       // items[0] if items[1] else items[2], which may be null
  kField,    // items[0].name of a namespace, as a target
};

enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

// Location of a name's value: slot `slot` of the frame `up` levels out.
struct Place {
  int up = 0;
  int slot = -1;
};

struct Arguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr list;  // *list
  ExprPtr dict;  // **dict
};

struct FilterEntry;
struct TestEntry;

struct Expr {
  ExprKind kind;
  int line = 0;
  int depth = 1;       // of the tree below
  bool folds = false;  // it holds a slice that Jinja2 may compute when it compiles
  std::string name;
  Value value;  // of a constant
  std::vector<ExprPtr> items;
  std::vector<CompareOp> ops;
  std::unique_ptr<Arguments> args;
  Place place;
  const FilterEntry* filter = nullptr;  // null: not known, which is an error where it is used
  const TestEntry* test = nullptr;
};

enum class StmtKind : uint8_t {
  kText,
  kOutput,  // exprs, one after the other
  kIf,      // conditions, bodies; one body more: else
  kFor,
  kSet,       // target = expr
  kSetBlock,  // target = body | filter
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,
  kScope,  // generation, block, autoescape false
  kBreak,
  kContinue,
};

// Initial values of the slots of a frame.
enum class LoadKind : uint8_t { kResolve, kAlias };
struct Load {
  LoadKind kind;
  int slot;
  std::string name;  // of the variable of the rendering
  Place from;        // counted from the new frame
};
struct FrameShape {
  int n_slots = 0;
  std::vector<Load> loads;  // all others are missing
};

struct Parameter {
  std::string name;
  ExprPtr fallback;  // may be null
  int slot = -1;
};

// A macro, or the `caller` of a call block.
struct MacroShape {
  std::string name;
  std::vector<Parameter> parameters;
  int caller_slot = -1, kwargs_slot = -1, varargs_slot = -1;  // -1: not used
  bool explicit_caller = false;
  FrameShape frame;
};

struct Stmt {
  StmtKind kind;
  int line = 0;
  std::string text;
  std::vector<ExprPtr> exprs;  // kIf: the conditions; kFor: iterable, condition or null
  ExprPtr target;
  ExprPtr filter;                // kSetBlock and kFilterBlock: a chain that ends in a null
  std::vector<Body> bodies;      // of For: body, else
  std::vector<ExprPtr> targets;  // of kWith
  std::unique_ptr<MacroShape> macro;
  FrameShape frame, else_frame, test_frame;
  ExprPtr test_target;  // of For: the target in the condition's own frame
  Place place;          // of a macro's name
  int loop_slot = -1;
  bool recursive = false;
  bool isolated = false;  // a `block`: sees the variables of the rendering alone
};

struct Root {
  Body body;
  FrameShape frame;
  std::vector<std::string> top_level_names;  // names of the slots that `block` sees
  std::vector<std::string> reads;            // variables that it may read, sorted
};

}  // namespace pando::jinja
