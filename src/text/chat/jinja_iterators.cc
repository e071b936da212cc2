#include "text/chat/jinja_iterators.h"

#include <fmt/format.h>

#include "text/chat/jinja_text.h"
#include "text/utf8.h"

namespace pando::jinja {
namespace {

struct ListIterator : Iterator {
  Value list;
  size_t at = 0;
  bool next(Evaluator&, Value& out) override {
    const std::vector<Value>& items = list.as<List>().items;
    if (at >= items.size()) return false;
    out = items[at++];
    return true;
  }
};

struct CharacterIterator : Iterator {
  Value string;
  size_t at = 0;
  bool next(Evaluator& in, Value& out) override {
    const std::string& text = text_of(string);
    if (at >= text.size()) return false;
    const size_t length = utf8_length(text[at]);
    out = in.text(text.substr(at, length));
    at += length;
    return true;
  }
};

struct DictIterator : Iterator {
  Value dict;
  ViewOf of = ViewOf::kKeys;
  size_t at = 0;
  bool next(Evaluator& in, Value& out) override {
    const std::vector<Dict::Item>& items = dict.as<Dict>().items;
    if (at >= items.size()) return false;
    const auto& [key, value] = items[at++];
    out = of == ViewOf::kKeys     ? key
          : of == ViewOf::kValues ? value
                                  : in.list({key, value}, Kind::kTuple);
    return true;
  }
};

struct RangeIterator : Iterator {
  Value range;
  int64_t at = 0;
  bool next(Evaluator&, Value& out) override {
    const Range& of = range.as<Range>();
    if (at >= of.length()) return false;
    out = Value::integer(of.at(at++));
    return true;
  }
};

struct EmptyIterator : Iterator {
  bool next(Evaluator&, Value&) override { return false; }
};

// The rest of a loop.
struct LoopIterator : Iterator {
  Value loop;
  bool next(Evaluator& in, Value& out) override {
    Loop& of = loop.as<Loop>();
    if (!of.next(in)) return false;
    out = in.list({of.current, loop}, Kind::kTuple);
    return true;
  }
};

struct FilteredIterator : Iterator {
  Ref<Iterator> from;
  const Stmt* stmt = nullptr;
  Ref<Frame> frame;
  bool next(Evaluator& in, Value& out) override {
    while (from->next(in, out)) {
      in.step();
      if (in.passes(*stmt, frame, out)) return true;
    }
    return false;
  }
};

struct Generator : Iterator {
  std::function<bool(Evaluator&, Value&)> make_next;
  bool next(Evaluator& in, Value& out) override { return make_next(in, out); }
};

template <class T>
Ref<Iterator> finished_iterator(const Ref<T>& iterator, const Value& of) {
  iterator->depth = of.depth() + 1;
  return Ref<Iterator>(iterator.get());
}

}  // namespace

Ref<Iterator> Evaluator::iterate(const Value& v) {
  step();
  switch (v.kind()) {
    case Kind::kUndefined:
      return Ref<Iterator>(make_ref<EmptyIterator>().get());
    case Kind::kString: {
      const auto iterator = make_ref<CharacterIterator>();
      iterator->string = v;
      return finished_iterator(iterator, v);
    }
    case Kind::kList:
    case Kind::kTuple: {
      const auto iterator = make_ref<ListIterator>();
      iterator->list = v;
      return finished_iterator(iterator, v);
    }
    case Kind::kDict:
    case Kind::kView: {
      const auto iterator = make_ref<DictIterator>();
      iterator->dict = v.is(Kind::kDict) ? v : v.as<View>().dict;
      if (v.is(Kind::kView)) iterator->of = v.as<View>().of;
      return finished_iterator(iterator, v);
    }
    case Kind::kRange: {
      const auto iterator = make_ref<RangeIterator>();
      iterator->range = v;
      return finished_iterator(iterator, v);
    }
    case Kind::kIterator:
      return Ref<Iterator>(&v.as<Iterator>());
    case Kind::kLoop: {
      const auto iterator = make_ref<LoopIterator>();
      iterator->loop = v;
      return finished_iterator(iterator, v);
    }
    default:
      fail(fmt::format("'{}' object is not iterable", type_name(v)));
  }
}

std::vector<Value> Evaluator::elements(const Value& v) {
  if (v.is_list_like()) {
    step(v.as<List>().items.size() / 8);
    return v.as<List>().items;
  }
  std::vector<Value> out;
  const Ref<Iterator> iterator = iterate(v);
  for (Value item; iterator->next(*this, item);) {
    step();
    out.push_back(std::move(item));
    if (out.size() * sizeof(Value) > most_bytes())
      throw JinjaError{fmt::format("a list takes more than the limit of {} bytes", most_bytes()), 0,
                       true};
  }
  return out;
}

Ref<Iterator> make_filtered(Ref<Iterator> from, const Stmt& stmt, const Ref<Frame>& frame) {
  const auto iterator = make_ref<FilteredIterator>();
  iterator->depth = from->depth;
  iterator->from = std::move(from);
  iterator->stmt = &stmt;
  iterator->frame = frame;
  return Ref<Iterator>(iterator.get());
}

Value make_list_iterator(std::vector<Value> items, std::string_view name) {
  const auto iterator = make_ref<ListIterator>();
  iterator->list = make_list(std::move(items));
  iterator->name = name;
  iterator->depth = iterator->list.depth() + 1;
  return Value::of(Kind::kIterator, iterator);
}

Value make_generator(uint32_t depth, std::function<bool(Evaluator&, Value&)> next) {
  const auto iterator = make_ref<Generator>();
  iterator->make_next = std::move(next);
  iterator->depth = depth + 1;
  if (iterator->depth > kDeepestValue)
    fail(fmt::format("a value is nested deeper than {}", kDeepestValue));
  return Value::of(Kind::kIterator, iterator);
}

Value make_mapped(const Value& from, Mapper mapper) {
  // Python's generator looks at its input when it is first asked for an item.
  Ref<Iterator> source;
  bool begun = false;
  return make_generator(from.depth(),
                        [=, mapper = std::move(mapper)](Evaluator& by, Value& out) mutable {
                          if (!begun) {
                            begun = true;
                            if (truth(from)) source = by.iterate(from);
                          }
                          if (!source) return false;
                          for (Value item; source->next(by, item);) {
                            by.step();
                            if (mapper(by, item, out)) return true;
                          }
                          return false;
                        });
}

bool Loop::next(Evaluator& in) {
  Value item = peek(in);
  if (item.missing()) return false;
  after = Value();
  ++index0;
  before = std::move(current);
  current = std::move(item);
  return true;
}

const Value& Loop::peek(Evaluator& in) {
  if (!after.missing()) return after;
  Value item;
  if (iterator->next(in, item)) after = std::move(item);
  return after;
}

int64_t Loop::length(Evaluator& in) {
  if (known_length >= 0) return known_length;
  std::vector<Value> rest;
  for (Value item; iterator->next(in, item);) {
    in.step();
    rest.push_back(std::move(item));
  }
  known_length = static_cast<int64_t>(rest.size()) + index0 + 1 + (after.missing() ? 0 : 1);
  const Value list = in.list(std::move(rest));
  iterator = in.iterate(list);
  return known_length;
}

}  // namespace pando::jinja
