// Iterators for loops and filters.
#pragma once

#include <functional>

#include "text/chat/jinja_eval.h"

namespace pando::jinja {

// The items of `from` that pass the condition of a loop.
Ref<Iterator> make_filtered(Ref<Iterator> from, const Stmt& stmt, const Ref<Frame>& frame);

// Iterator over a list in memory, as Python's reversed() gives.
Value make_list_iterator(std::vector<Value> items, std::string_view name);

// Lazily, for each item of `from`: true and a value, or false to leave it out.
using Mapper = std::function<bool(Evaluator& in, const Value& item, Value& out)>;
Value make_mapped(const Value& from, Mapper mapper);
// Yields the results of `next` lazily. depth: nesting of the value that it walks.
Value make_generator(uint32_t depth, std::function<bool(Evaluator& in, Value& out)> next);

// Value that the `attribute` of a filter names: "a.b.0", or a number; none is the item itself.
Value attribute_path(Evaluator& in, const Value& of, const Value& path,
                     const Value& otherwise = Value());

}  // namespace pando::jinja
