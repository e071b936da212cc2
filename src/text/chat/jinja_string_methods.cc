// Methods of Python's str. Arguments that become part of a text that `safe` made are escaped.
#include <fmt/format.h>

#include <algorithm>

#include "text/chat/jinja_eval.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

std::string_view own(const Value& self) { return text_of(self); }

template <std::string (*convert)(std::string_view)>
Value convert_text(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound none("the method", args, {});
  in.walk(own(self).size());
  return in.text_like(self, convert(own(self)));
}

template <Side side>
Value strip(Evaluator& in, const Value& self, const CallArgs& args) {
  if (!args.named.empty()) fail("strip() takes no keyword arguments");
  const Bound bound("strip()", args, {"chars"});
  in.scan(own(self).size() + (bound.none_or_missing(0) ? 0 : 8 * bound.text(0, "").size()));
  return in.text_like(self, std::string(bound.none_or_missing(0)
                                            ? strip_space(own(self), side)
                                            : strip_chars(own(self), bound.text(0, ""), side)));
}

// Collects the pieces that a function passes to its last argument, as values.
class Pieces {
 public:
  Pieces(Evaluator& in, const Value& self) : in_(in), self_(self) {}
  void add(std::string_view piece) {
    in_.step();
    items_.push_back(in_.text_like(self_, std::string(piece)));
  }
  TakePiece taker() {
    return [this](std::string_view piece) { add(piece); };
  }
  Value list(bool backwards = false) {
    if (backwards) std::reverse(items_.begin(), items_.end());
    return in_.list(std::move(items_));
  }
  Value tuple() { return in_.list(std::move(items_), Kind::kTuple); }

 private:
  Evaluator& in_;
  const Value& self_;
  std::vector<Value> items_;
};

template <bool from_right>
Value split(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("split()", args, {"sep", "maxsplit"});
  const int64_t most = bound.integer(1, -1);
  Pieces pieces(in, self);
  if (bound.none_or_missing(0)) {
    in.walk(own(self).size());
    split_space(own(self), most, from_right, pieces.taker());
    return pieces.list(from_right);
  }
  const std::string_view separator = bound.text(0, "");
  if (separator.empty()) fail("empty separator");
  if (from_right) {
    split_from_right(own(self), separator, most, in.budget(), pieces.taker());
  } else {
    in.scan(own(self).size() + separator.size());
    split_by(own(self), separator, most, pieces.taker());
  }
  return pieces.list(from_right);
}

Value splitlines(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("splitlines()", args, {"keepends"});
  in.walk(own(self).size());
  Pieces pieces(in, self);
  split_lines(own(self), bound.flag(0, false), pieces.taker());
  return pieces.list();
}

template <bool from_right>
Value partition(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("partition()", args, {"sep"}, 1);
  const std::string_view separator = bound.text(0, ""), text = own(self);
  if (separator.empty()) fail("empty separator");
  in.scan(text.size() + separator.size());
  const size_t at =
      from_right ? find_last(text, separator, in.budget()) : find_text(text, separator);
  Pieces pieces(in, self);
  const bool is_last = at == text.npos && from_right;
  pieces.add(is_last ? "" : text.substr(0, at));
  pieces.add(at == text.npos ? "" : separator);
  pieces.add(is_last ? text : at == text.npos ? "" : text.substr(at + separator.size()));
  return pieces.tuple();
}

// Text of `part` as a part of `self`. A text that `safe` made takes any value, printed and escaped.
std::string escaped_for(Evaluator& in, const Value& self, const Value& part) {
  return self.is_markup() && !part.is_markup() ? escape_html(in.printed(part)) : text_of(part);
}
std::string inserted(Evaluator& in, const Value& self, const Bound& bound, size_t i,
                     std::string_view otherwise) {
  return self.is_markup() && bound.has(i) ? escaped_for(in, self, bound[i])
                                          : std::string(bound.text(i, otherwise));
}

Value replace_method(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("replace()", args, {"old", "new", "count"}, 2);
  const std::string_view old = bound.text(0, "");
  const std::string by = inserted(in, self, bound, 1, "");
  in.walk(own(self).size());
  in.scan(old.size() + by.size());
  return in.text_like(self, replace(own(self), old, by, bound.integer(2, -1), in.most_bytes()));
}

Value join(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("join()", args, {"iterable"}, 1);
  std::string out;
  bool first = true;
  const Ref<Iterator> iterator = in.iterate(bound[0]);
  int64_t index = 0;
  for (Value item; iterator->next(in, item); ++index) {
    in.step();
    if (!item.is(Kind::kString) && !self.is_markup())
      fail(
          fmt::format("sequence item {}: expected str instance, {} found", index, type_name(item)));
    if (!first) out += own(self);
    first = false;
    out += escaped_for(in, self, item);
    if (out.size() > in.most_bytes())
      fail(fmt::format("join() makes a string longer than the limit of {} bytes", in.most_bytes()));
  }
  return in.text_like(self, std::move(out));
}

// Characters [start, end) of the text, as the last arguments of find() and others say.
struct Section {
  std::string_view text;
  int64_t begin = 0;     // characters before it
  bool is_there = true;  // false if it begins behind the text's end
};
Section section_of(Evaluator& in, const Value& self, const Bound& bound, size_t first) {
  const int64_t n = length_of(self);
  in.scan(own(self).size());
  const auto clip = [&](size_t i, int64_t otherwise) {
    if (bound.none_or_missing(i)) return otherwise;
    const int64_t at = bound.integer(i, 0);
    return at < 0 ? std::max<int64_t>(at + n, 0) : at;
  };
  const int64_t begin = clip(first, 0), end = std::min(clip(first + 1, n), n);
  if (begin > n || begin > end) return {{}, begin, false};
  return {points_between(own(self), begin, end), begin, true};
}

template <bool from_right, bool demands>
Value find_piece(Evaluator& in, const Value& self, const CallArgs& args) {
  if (!args.named.empty()) fail("find() takes no keyword arguments");
  const Bound bound("find()", args, {"sub", "start", "end"}, 1);
  const std::string_view piece = bound.text(0, "");
  const Section section = section_of(in, self, bound, 1);
  in.scan(piece.size());
  size_t at = section.text.npos;
  if (section.is_there)
    at = from_right ? find_last(section.text, piece, in.budget()) : find_text(section.text, piece);
  if (at == section.text.npos) {
    if (demands) fail("substring not found");
    return Value::integer(-1);
  }
  return Value::integer(section.begin +
                        static_cast<int64_t>(count_points(section.text.substr(0, at))));
}

Value count(Evaluator& in, const Value& self, const CallArgs& args) {
  if (!args.named.empty()) fail("count() takes no keyword arguments");
  const Bound bound("count()", args, {"sub", "start", "end"}, 1);
  const std::string_view piece = bound.text(0, "");
  const Section section = section_of(in, self, bound, 1);
  in.walk(section.text.size());
  in.scan(piece.size());
  return Value::integer(section.is_there ? static_cast<int64_t>(count_of(section.text, piece)) : 0);
}

template <bool at_end>
Value has_affix(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound(at_end ? "endswith()" : "startswith()", args, {"prefix", "start", "end"}, 1);
  const Section section = section_of(in, self, bound, 1);
  const auto matches = [&](const Value& affix) {
    demand_defined(affix);
    if (!affix.is(Kind::kString))
      fail(fmt::format("startswith() and endswith() take a string or a tuple of strings, not {}",
                       type_name(affix)));
    if (!section.is_there) return false;
    in.step();
    in.scan(std::min(section.text.size(), text_of(affix).size()));
    return at_end ? section.text.ends_with(text_of(affix))
                  : section.text.starts_with(text_of(affix));
  };
  if (!bound[0].is(Kind::kTuple)) return Value::boolean(matches(bound[0]));
  for (const Value& affix : in.elements(bound[0]))
    if (matches(affix)) return Value::boolean(true);
  return Value::boolean(false);
}

template <bool at_end>
Value remove_affix(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("removeprefix()", args, {"prefix"}, 1);
  const std::string_view affix = bound.text(0, "");
  std::string_view text = own(self);
  if (at_end && text.ends_with(affix)) text.remove_suffix(affix.size());
  if (!at_end && text.starts_with(affix)) text.remove_prefix(affix.size());
  return in.text_like(self, std::string(text));
}

enum class Align { kLeft, kRight, kCenter };
template <Align align>
Value pad(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("center(), ljust() or rjust()", args, {"width", "fillchar"}, 1);
  const std::string fill = inserted(in, self, bound, 1, " ");
  if (fill.empty() || fill.size() > 4 || count_points(fill) != 1)
    fail("The fill character must be exactly one character long");
  const int64_t n = length_of(self), width = std::max<int64_t>(bound.integer(0, 0), 0);
  if (const size_t most = in.most_bytes() / 4; width > static_cast<int64_t>(most))
    fail(fmt::format("a string is padded to more than the limit of {} characters", most));
  const int64_t lacks = std::max<int64_t>(width - n, 0);
  const int64_t before = align == Align::kLeft    ? 0
                         : align == Align::kRight ? lacks
                                                  : lacks / 2 + (lacks & width & 1);
  std::string out;
  for (int64_t i = 0; i < before; ++i) out += fill;
  out += own(self);
  for (int64_t i = before; i < lacks; ++i) out += fill;
  return in.text_like(self, std::move(out));
}

Value zfill(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("zfill()", args, {"width"}, 1);
  const int64_t lacks = std::max<int64_t>(bound.integer(0, 0), 0) - length_of(self);
  std::string out(own(self));
  if (const size_t most = in.most_bytes() / 4; lacks > static_cast<int64_t>(most))
    fail(fmt::format("a string is padded by more than the limit of {} characters", most));
  if (lacks > 0)
    out.insert(out.starts_with('-') || out.starts_with('+') ? 1 : 0, static_cast<size_t>(lacks),
               '0');
  return in.text_like(self, std::move(out));
}

Value expandtabs(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("expandtabs()", args, {"tabsize"});
  const int64_t size = bound.integer(0, 8);
  if (size > 1000) fail("expandtabs() is given a tab size of more than 1000");
  in.walk(own(self).size());
  std::string out;
  int64_t column = 0;
  for (const std::string_view c : characters_of(own(self))) {
    if (c == "\t") {
      const int64_t n = size > 0 ? size - column % size : 0;
      out.append(n, ' ');
      column += n;
    } else {
      out += c;
      column = c == "\n" || c == "\r" ? 0 : column + 1;
    }
    if (out.size() > in.most_bytes())
      fail(fmt::format("expandtabs() makes a string longer than the limit of {} bytes",
                       in.most_bytes()));
  }
  return in.text_like(self, std::move(out));
}

// True if all characters are of a class; `empty` for a text without characters.
template <bool (*is)(char32_t), bool empty>
Value all_are(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound none("the method", args, {});
  in.walk(own(self).size());
  if (own(self).empty()) return Value::boolean(empty);
  const Characters characters = characters_of(own(self));
  return Value::boolean(std::all_of(characters.begin(), characters.end(),
                                    [](std::string_view c) { return is(decode(c)); }));
}
bool is_alnum(char32_t c) { return is_alpha(c) || is_decimal(c) || is_digit(c) || is_numeric(c); }
bool is_ascii(char32_t c) { return c < 0x80; }

Value istitle(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound none("istitle()", args, {});
  in.walk(own(self).size());
  bool found = false, inside = false;
  for (const std::string_view c : characters_of(own(self))) {
    const char32_t point = decode(c);
    if (is_upper(point) || is_title(point)) {
      if (inside) return Value::boolean(false);
      found = inside = true;
    } else if (is_lower(point)) {
      if (!inside) return Value::boolean(false);
    } else {
      inside = false;
    }
  }
  return Value::boolean(found);
}

template <bool upper>
Value is_case(Evaluator& in, const Value& self, const CallArgs& args) {
  return Value::boolean(find_test(upper ? "upper" : "lower")->run(in, self, args));
}

Value isidentifier(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound none("isidentifier()", args, {});
  in.walk(own(self).size());
  if (own(self).empty() || !begins_name(decode(own(self)))) return Value::boolean(false);
  const Characters characters = characters_of(own(self));
  return Value::boolean(std::all_of(characters.begin(), characters.end(),
                                    [](std::string_view c) { return continues_name(decode(c)); }));
}

Value format_method(Evaluator& in, const Value& self, const CallArgs& args) {
  return brace_format(in, self, args);
}

struct NamedMethod {
  std::string_view name;
  Method method;
};
constexpr NamedMethod kStringMethods[] = {
    {"capitalize", convert_text<capitalize>},
    {"casefold", convert_text<casefold>},
    {"center", pad<Align::kCenter>},
    {"count", count},
    {"endswith", has_affix<true>},
    {"expandtabs", expandtabs},
    {"find", find_piece<false, false>},
    {"format", format_method},
    {"index", find_piece<false, true>},
    {"isalnum", all_are<is_alnum, false>},
    {"isalpha", all_are<is_alpha, false>},
    {"isascii", all_are<is_ascii, true>},
    {"isdecimal", all_are<is_decimal, false>},
    {"isdigit", all_are<is_digit, false>},
    {"isidentifier", isidentifier},
    {"islower", is_case<false>},
    {"isnumeric", all_are<is_numeric, false>},
    {"isprintable", all_are<is_printable, true>},
    {"isspace", all_are<is_python_space, false>},
    {"istitle", istitle},
    {"isupper", is_case<true>},
    {"join", join},
    {"ljust", pad<Align::kLeft>},
    {"lower", convert_text<lower>},
    {"lstrip", strip<Side::kLeft>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace_method},
    {"rfind", find_piece<true, false>},
    {"rindex", find_piece<true, true>},
    {"rjust", pad<Align::kRight>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<Side::kRight>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", has_affix<false>},
    {"strip", strip<Side::kBoth>},
    {"swapcase", convert_text<swapcase>},
    {"title", convert_text<title>},
    {"upper", convert_text<upper>},
    {"zfill", zfill},
};

}  // namespace

Method find_string_method(std::string_view name) {
  const auto* found = std::find_if(std::begin(kStringMethods), std::end(kStringMethods),
                                   [&](const NamedMethod& m) { return m.name == name; });
  return found == std::end(kStringMethods) ? nullptr : found->method;
}

}  // namespace pando::jinja
