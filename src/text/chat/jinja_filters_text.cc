// Filters that make a text.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "text/chat/jinja_iterators.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

// Jinja's soft_str(): a string unchanged, any other value as it prints.
Value soft_text(Evaluator& in, const Value& of) {
  return of.is(Kind::kString) ? of : in.text(in.printed(of));
}

template <std::string (*convert)(std::string_view)>
Value filter_by(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("the filter", args, {});
  const Value text = soft_text(in, of);
  in.walk(text_of(text).size());
  return in.text_like(text, convert(text_of(text)));
}

// Words begin behind spaces, hyphens and opening brackets.
std::string title_of_words(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    const auto divides = [&](std::string_view c) {
      return c.find_first_of("-({[<") == 0 || strip_space(c, Side::kLeft).empty();
    };
    const std::string_view head = *characters_of(text.substr(at)).begin();
    const bool divider = divides(head);
    while (end < text.size()) {
      const std::string_view c = points_between(text.substr(end), 0, 1);
      if (divides(c) != divider) break;
      end += c.size();
    }
    const std::string_view word = text.substr(at, end - at);
    out += upper(head) + lower(word.substr(head.size()));
    at = end;
  }
  return out;
}

Value filter_trim(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'trim'", args, {"chars"});
  const Value text = soft_text(in, of);
  in.scan(text_of(text).size() + (bound.none_or_missing(0) ? 0 : 8 * bound.text(0, "").size()));
  const std::string_view stripped =
      bound.none_or_missing(0) ? strip_space(text_of(text), Side::kBoth)
                               : strip_chars(text_of(text), bound.text(0, ""), Side::kBoth);
  return in.text_like(text, std::string(stripped));
}

Value filter_replace(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'replace'", args, {"old", "new", "count"}, 2);
  const int64_t count = bound.none_or_missing(2) ? -1 : bound.integer(2, -1);
  const std::string text = in.printed(of), old = in.printed(bound[0]), by = in.printed(bound[1]);
  in.walk(text.size());
  return in.text(replace(text, old, by, count, in.most_bytes()));
}

Value filter_string(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'string'", args, {});
  return soft_text(in, of);
}

Value filter_safe(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'safe'", args, {});
  return in.text(in.printed(of), /*markup=*/true);
}

Value filter_escape(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'escape'", args, {});
  return of.is_markup() ? of : in.text(escape_html(in.printed(of)), /*markup=*/true);
}

Value filter_forceescape(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'forceescape'", args, {});
  return in.text(escape_html(in.printed(of)), /*markup=*/true);
}

Value filter_indent(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'indent'", args, {"width", "first", "blank"});
  demand_defined(of);
  if (!of.is(Kind::kString))
    fail(fmt::format("'indent' is given a value of type '{}', expected a string", type_name(of)));
  std::string indention;
  if (bound.has(0) && bound[0].is(Kind::kString)) {
    indention = text_of(bound[0]);
    if (of.is_markup() && !bound[0].is_markup()) indention = escape_html(indention);
  } else {
    const int64_t width = bound.integer(0, 4);
    if (width > 10000) fail("'indent' is given a width of more than 10000");
    indention.assign(std::max<int64_t>(width, 0), ' ');
  }
  const bool first = bound.flag(1, false), blank = bound.flag(2, false);
  const std::string whole = text_of(of) + "\n";
  in.walk(whole.size());
  in.scan(indention.size());
  std::string out = first ? indention : "";
  bool is_first = true;
  split_lines(whole, /*keep_ends=*/false, [&](std::string_view line) {
    if (!is_first) out += '\n';
    if (!std::exchange(is_first, false) && (blank || !line.empty())) out += indention;
    out += line;
    if (out.size() > in.most_bytes())
      fail(fmt::format("'indent' makes a string longer than the limit of {} bytes",
                       in.most_bytes()));
  });
  return in.text_like(of, std::move(out));
}

Value filter_center(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'center'", args, {"width"});
  CallArgs centered;
  centered.positional = {Value::integer(bound.integer(0, 80))};
  return find_string_method("center")(in, soft_text(in, of), centered);
}

Value filter_truncate(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'truncate'", args, {"length", "killwords", "end", "leeway"});
  const std::string end(bound.text(2, "..."));
  in.scan(end.size());
  const int64_t n_end = static_cast<int64_t>(count_points(end));
  const int64_t length = bound.integer(0, 255);
  const int64_t leeway = bound.none_or_missing(3) ? 5 : bound.integer(3, 5);
  if (length < n_end)
    fail(fmt::format("'truncate' has the length {}, expected at least {}", length, n_end));
  if (leeway < 0) fail(fmt::format("'truncate' has the leeway {}, expected 0 or more", leeway));
  const int64_t n = length_of(of);
  if (n < 0) fail(fmt::format("object of type '{}' has no len()", type_name(of)));
  if (static_cast<__int128>(n) <= static_cast<__int128>(length) + leeway) return of;
  if (!of.is(Kind::kString))
    fail(fmt::format("'truncate' is given a value of type '{}', expected a string", type_name(of)));
  const Str& text = of.as<Str>();
  in.scan(text.text.size());
  std::string_view head = points_between(text.text, 0, length - n_end);
  if (!bound.flag(1, false)) head = head.substr(0, head.rfind(' '));
  return in.text_like(of, std::string(head) + end);
}

Value filter_wordcount(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'wordcount'", args, {});
  const Value text = soft_text(in, of);
  in.walk(text_of(text).size());
  int64_t n = 0;
  bool inside = false;
  for (const std::string_view c : characters_of(text_of(text))) {
    const char32_t point = decode(c);
    const bool word = point == '_' || is_alpha(point) || is_digit(point) || is_numeric(point);
    if (word && !inside) ++n;
    inside = word;
  }
  return Value::integer(n);
}

std::string quoted_for_url(Evaluator& in, const Value& of, bool query) {
  std::string out;
  const std::string text = in.printed(of);
  in.step(text.size());
  for (const char c : text) {
    if (out.size() > in.most_bytes())
      throw JinjaError{
          fmt::format("a string is longer than the limit of {} bytes", in.most_bytes()), 0, true};
    if (std::isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !query)) {
      out += c;
    } else if (c == ' ' && query) {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Value filter_urlencode(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'urlencode'", args, {});
  const bool is_one =
      of.is(Kind::kString) || of.is_number() || of.is(Kind::kLarge) || of.is(Kind::kNone);
  if (is_one) return in.text(quoted_for_url(in, of, false));
  std::string out;
  const auto append = [&](const Value& key, const Value& value) {
    if (!out.empty()) out += '&';
    out += quoted_for_url(in, key, true) + "=" + quoted_for_url(in, value, true);
  };
  if (of.is(Kind::kDict)) {
    for (const auto& [key, value] : of.as<Dict>().items) append(key, value);
    return in.text(std::move(out));
  }
  for (const Value& pair : in.elements(of)) {
    const std::vector<Value> items = in.elements(pair);
    if (items.size() != 2) fail("'urlencode' is given an item that is not a pair, expected pairs");
    append(items[0], items[1]);
  }
  return in.text(std::move(out));
}

Value filter_xmlattr(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'xmlattr'", args, {"autospace"});
  demand_defined(of);
  if (!of.is(Kind::kDict)) fail("'xmlattr' is given a value that is not a mapping");
  std::string out;
  for (const auto& [key, value] : of.as<Dict>().items) {
    if (value.is(Kind::kNone) || value.undefined()) continue;
    if (!key.is(Kind::kString) || text_of(key).find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      fail(fmt::format(
          "'xmlattr' is given the name {}, expected a string without spaces, '/', '>' or '='",
          short_repr(key)));
    if (!out.empty()) out += ' ';
    const auto escaped = [&](const Value& v) {
      return v.is_markup() ? in.printed(v) : escape_html(in.printed(v));
    };
    if (out.size() > in.most_bytes())
      throw JinjaError{
          fmt::format("a string is longer than the limit of {} bytes", in.most_bytes()), 0, true};
    out += escaped(key) + "=\"" + escaped(value) + "\"";
  }
  if (bound.flag(0, true) && !out.empty()) out.insert(out.begin(), ' ');
  return in.text(std::move(out));
}

Value filter_format(Evaluator& in, const Value& of, const CallArgs& args) {
  const Value text = soft_text(in, of);
  if (!args.positional.empty() && !args.named.empty())
    fail("'format' cannot take positional and named arguments at the same time");
  if (args.named.empty()) return percent_format(in, text, in.list(args.positional, Kind::kTuple));
  const Ref<Dict> dict = make_ref<Dict>();
  for (const auto& [name, value] : args.named) dict->set(in.text(name), value, in.budget());
  return percent_format(in, text, make_dict(dict, in.budget()));
}

Value filter_tojson(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'tojson'", args, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = bound.flag(0, false);
  style.sort_keys = bound.flag(3, false);
  if (!bound.none_or_missing(1)) {
    style.has_indent = true;
    style.item_separator = ",";
    if (bound[1].is(Kind::kString)) {
      style.indent = text_of(bound[1]);
    } else {
      const int64_t width = bound.integer(1, 0);
      if (width > 1000) fail("'tojson' is given an indent of more than 1000");
      style.indent.assign(std::max<int64_t>(width, 0), ' ');
    }
  }
  if (!bound.none_or_missing(2)) {
    const std::vector<Value> separators = in.elements(bound[2]);
    if (separators.size() != 2 || !separators[0].is(Kind::kString) ||
        !separators[1].is(Kind::kString))
      fail("'tojson' is given separators that are not two strings");
    style.item_separator = text_of(separators[0]);
    style.key_separator = text_of(separators[1]);
  }
  std::string json = to_json(of, style, in.budget());
  in.walk(json.size());
  return in.text(std::move(json));
}

Value filter_join(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'join'", args, {"d", "attribute"});
  const std::string separator = bound.has(0) ? in.printed(bound[0]) : "";
  std::string out;
  bool first = true;
  const Ref<Iterator> iterator = in.iterate(of);
  for (Value item; iterator->next(in, item);) {
    in.step();
    if (!bound.none_or_missing(1)) item = attribute_path(in, item, bound[1]);
    if (!first) out += separator;
    first = false;
    out += in.printed(item);
    if (out.size() > in.most_bytes())
      throw JinjaError{
          fmt::format("a string is longer than the limit of {} bytes", in.most_bytes()), 0, true};
  }
  return in.text(std::move(out));
}

}  // namespace

std::vector<FilterEntry> text_filters() {
  return {{"capitalize", filter_by<capitalize>},
          {"center", filter_center},
          {"e", filter_escape},
          {"escape", filter_escape},
          {"forceescape", filter_forceescape},
          {"format", filter_format},
          {"indent", filter_indent},
          {"join", filter_join},
          {"lower", filter_by<lower>},
          {"replace", filter_replace},
          {"safe", filter_safe},
          {"string", filter_string},
          {"title", filter_by<title_of_words>},
          {"tojson", filter_tojson},
          {"trim", filter_trim},
          {"truncate", filter_truncate},
          {"upper", filter_by<upper>},
          {"urlencode", filter_urlencode},
          {"wordcount", filter_wordcount},
          {"xmlattr", filter_xmlattr}};
}

}  // namespace pando::jinja
