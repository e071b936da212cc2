// "%d" % x and "{:d}".format(x), as Python writes them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "text/chat/jinja_eval.h"
#include "text/chat/jinja_spec.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

double number_for_format(const Value& v, char type) {
  demand_defined(v);
  demand_small(v);
  if (!v.is_number())
    fail(fmt::format("%{} format: a real number is required, not {}", type, type_name(v)));
  return v.as_double();
}

int64_t integer_for_format(const Value& v, char type) {
  const bool decimal = type == 'd' || type == 'i' || type == 'u';
  demand_defined(v);
  demand_small(v);
  if (v.is(Kind::kFloat) && decimal) {
    if (!(std::abs(v.as_double()) < 0x1p63)) fail("a number has more than 64 bits");
    return static_cast<int64_t>(v.as_double());
  }
  if (!v.is_integral())
    fail(fmt::format("%{} format: {} is required, not {}", type,
                     decimal ? "a real number" : "an integer", type_name(v)));
  return v.integer();
}

// ---- the % operator

class PercentFormatter {
 public:
  PercentFormatter(Evaluator& in, const Value& format, const Value& arguments)
      : in_(in), markup_(format.is_markup()), format_(text_of(format)), arguments_(arguments) {}

  Value run() {
    std::string out;
    while (at_ < format_.size()) {
      const size_t percent = format_.find('%', at_);
      out += format_.substr(at_, percent - at_);
      if (percent == format_.npos) break;
      at_ = percent + 1;
      const size_t n_before = out.size();
      append_one(out);
      in_.scan(out.size() - n_before);
      if (out.size() > in_.most_bytes())
        fail(fmt::format("a format makes a string longer than the limit of {} bytes",
                         in_.most_bytes()));
      in_.step();
    }
    const bool is_mapping = arguments_.is(Kind::kDict) || arguments_.is(Kind::kList) ||
                            arguments_.is(Kind::kRange) || arguments_.undefined();
    if (is_tuple() ? next_ < arguments_.as<List>().items.size() : next_ == 0 && !is_mapping)
      fail("not all arguments converted during string formatting");
    return in_.text(std::move(out), markup_);
  }

 private:
  bool is_tuple() const { return arguments_.is(Kind::kTuple); }

  Value next_argument() {
    if (!is_tuple() && next_ == 0 && ++next_ > 0) return arguments_;
    if (!is_tuple() || next_ >= arguments_.as<List>().items.size())
      fail("not enough arguments for format string");
    return arguments_.as<List>().items[next_++];
  }

  std::optional<Value> read_key() {
    if (at_ >= format_.size() || format_[at_] != '(') return std::nullopt;
    int depth = 1;
    const size_t begin = ++at_;
    for (; at_ < format_.size() && depth > 0; ++at_)
      depth += format_[at_] == '(' ? 1 : format_[at_] == ')' ? -1 : 0;
    if (depth > 0) fail("incomplete format key");
    if (!arguments_.is(Kind::kDict)) fail("format requires a mapping");
    const std::string key(format_.substr(begin, at_ - 1 - begin));
    const Value* found = arguments_.as<Dict>().find(key);
    if (found == nullptr)
      fail(fmt::format("the format names the key {}, which the mapping does not have",
                       string_repr(key)));
    next_ = std::max<size_t>(next_, 1);
    return *found;
  }

  int64_t read_size() {
    if (at_ >= format_.size() || format_[at_] != '*') return read_number(format_, at_);
    ++at_;
    const int64_t value = index_of_value(next_argument());
    if (std::abs(value) > kWidestField)
      fail(fmt::format("a format has a width over {}", kWidestField));
    return value;
  }

  void append_one(std::string& out) {
    if (at_ < format_.size() && format_[at_] == '%') {
      ++at_;
      out += '%';
      return;
    }
    std::optional<Value> value = read_key();
    FormatSpec spec;
    bool zero = false, left = false;
    for (; at_ < format_.size() &&
           std::string_view("#0- +").find(format_[at_]) != std::string_view::npos;
         ++at_) {
      spec.alternate = spec.alternate || format_[at_] == '#';
      zero = zero || format_[at_] == '0';
      left = left || format_[at_] == '-';
      if (format_[at_] == '+') spec.sign = '+';
      if (format_[at_] == ' ' && spec.sign != '+') spec.sign = ' ';
    }
    spec.width = read_size();
    if (spec.width < 0) {
      left = true;
      spec.width = -spec.width;
    }
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(read_size(), 0);
    }
    while (at_ < format_.size() &&
           std::string_view("hlL").find(format_[at_]) != std::string_view::npos)
      ++at_;
    if (at_ >= format_.size()) fail("incomplete format");
    spec.type = format_[at_++];
    if (spec.type == '%') {
      out += '%';
      return;
    }
    spec.align = left ? '<' : '>';
    if (!value) value = next_argument();
    out += one_text(*value, spec, zero && !left);
  }

  std::string one_text(const Value& v, FormatSpec& spec, bool zero) {
    constexpr std::string_view kIntegers = "diuoxX", kFloats = "eEfFgG";
    if (kIntegers.find(spec.type) != std::string_view::npos) {
      const int64_t value = integer_for_format(v, spec.type);
      std::string body = digits_of(value < 0 ? uint64_t{0} - value : value, spec.type);
      if (spec.precision && static_cast<int64_t>(body.size()) < *spec.precision)
        body.insert(0, *spec.precision - body.size(), '0');
      std::string sign(sign_text(value < 0, spec.sign));
      if (spec.alternate && (spec.type == 'x' || spec.type == 'X' || spec.type == 'o'))
        sign += std::string("0") + spec.type;
      if (zero) {
        spec.fill = "0";
        spec.align = '=';
      }
      return padded(spec, sign, body, '>');
    }
    if (kFloats.find(spec.type) != std::string_view::npos) {
      const double value = number_for_format(v, spec.type);
      if (zero && std::isfinite(value)) {
        spec.fill = "0";
        spec.align = '=';
      }
      return float_spec_text(value, spec);
    }
    return padded(spec, "", text_part(v, spec), '>');
  }

  std::string text_part(const Value& v, const FormatSpec& spec) {
    std::string text;
    if (spec.type == 's') {
      text = in_.printed(v);
    } else if (spec.type == 'r' || spec.type == 'a') {
      text = in_.repr(v);
    } else if (spec.type == 'c') {
      text = v.is(Kind::kString) ? in_.printed(v) : character_of(v);
      if (count_points(text) != 1) fail("%c requires int or char");
    } else {
      fail(fmt::format("unsupported format character {}", string_repr({&spec.type, 1})));
    }
    if (markup_ && !v.is_markup()) text = escape_html(text);
    return spec.precision && spec.type != 'c'
               ? std::string(points_between(text, 0, static_cast<size_t>(*spec.precision)))
               : text;
  }

  static std::string character_of(const Value& v) {
    const int64_t point = index_of_value(v);
    if (point < 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      fail("%c arg not in range(0x110000)");
    return encode(static_cast<char32_t>(point));
  }

  Evaluator& in_;
  const bool markup_;
  const std::string_view format_;
  const Value& arguments_;
  size_t at_ = 0;
  size_t next_ = 0;
};

// ---- str.format()

FormatSpec parse_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  const auto here = [&] { return at < text.size() ? text[at] : '\0'; };
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const std::string_view first = points_between(text, 0, 1);
  const bool has_fill = text.size() > first.size() && is_align(text[first.size()]);
  if (has_fill) {
    spec.fill = first;
    spec.align = text[first.size()];
    at = first.size() + 1;
  } else if (is_align(here())) {
    spec.align = text[at++];
  }
  if (here() == '+' || here() == '-' || here() == ' ') spec.sign = text[at++];
  if (here() == '#') {
    spec.alternate = true;
    ++at;
  }
  if (here() == '0') {
    ++at;
    if (!has_fill) spec.fill = "0";
    if (spec.align == '\0') spec.align = '=';
  }
  spec.width = read_number(text, at);
  if (here() == ',' || here() == '_') spec.grouping = text[at++];
  if (here() == '.') {
    const size_t begin = ++at;
    spec.precision = read_number(text, at);
    if (at == begin) fail("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) fail(fmt::format("Invalid format specifier '{}'", text));
  return spec;
}

[[noreturn]] void unknown_code(char type, const Value& v) {
  fail(fmt::format("Unknown format code '{}' for object of type '{}'", type, type_name(v)));
}

std::string spec_text(const Value& v, std::string_view text) {
  demand_small(v);
  FormatSpec spec = parse_spec(text);
  constexpr std::string_view kFloats = "eEfFgG%n";
  if (v.is(Kind::kString)) {
    if (spec.type != '\0' && spec.type != 's') unknown_code(spec.type, v);
    if (spec.align == '=' && spec.fill == "0") spec.align = '<';
    if (spec.align == '=') fail("'=' alignment not allowed in string format specifier");
    if (spec.sign != '-' || spec.alternate || spec.grouping != '\0')
      fail("sign, '#' or ',' is not allowed in string format specifier");
    const std::string& whole = text_of(v);
    return padded(spec, "",
                  spec.precision ? std::string(points_between(whole, 0, *spec.precision)) : whole,
                  '<');
  }
  if (v.is_integral() &&
      (spec.type == '\0' || std::string_view("dnxXob").find(spec.type) != std::string_view::npos)) {
    if (spec.precision) fail("Precision not allowed in integer format specifier");
    if (spec.grouping == ',' &&
        std::string_view("xXob").find(spec.type) != std::string_view::npos && spec.type != '\0')
      fail(fmt::format("Cannot specify ',' with '{}'.", spec.type));
    return integer_text(v.integer(), spec);
  }
  if (v.is_integral() && spec.type == 'c') {
    spec.align = spec.align == '\0' ? '<' : spec.align;
    return padded(spec, "", encode(static_cast<char32_t>(v.integer() & 0x1fffff)), '<');
  }
  if (v.is_number() && (spec.type == '\0' || kFloats.find(spec.type) != std::string_view::npos))
    return float_spec_text(v.as_double(), spec);
  if (v.is_number()) unknown_code(spec.type, v);
  fail(fmt::format("unsupported format string passed to {}.__format__", type_name(v)));
}

class BraceFormatter {
 public:
  BraceFormatter(Evaluator& in, const Value& format, const CallArgs& args)
      : in_(in), markup_(format.is_markup()), args_(args) {}

  std::string run(std::string_view format, int depth) {
    if (depth < 0) fail("Max string recursion exceeded");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at++];
      if (c != '{' && c != '}') {
        out += c;
        continue;
      }
      if (at < format.size() && format[at] == c) {
        out += c;
        ++at;
        continue;
      }
      if (c == '}') fail("Single '}' encountered in format string");
      const size_t end = field_end(format, at);
      out += field(format.substr(at, end - at), depth);
      at = end + 1;
      in_.step();
      if (out.size() > in_.most_bytes())
        fail(fmt::format("a format makes a string longer than the limit of {} bytes",
                         in_.most_bytes()));
    }
    return out;
  }

 private:
  static size_t field_end(std::string_view format, size_t at) {
    int depth = 1;
    for (; at < format.size(); ++at) {
      depth += format[at] == '{' ? 1 : format[at] == '}' ? -1 : 0;
      if (depth == 0) return at;
    }
    fail("expected '}' before end of string");
  }

  std::string field(std::string_view text, int depth) {
    size_t end = 0;
    for (int brackets = 0; end < text.size(); ++end) {
      if (text[end] == '[') ++brackets;
      if (text[end] == ']') --brackets;
      if (brackets <= 0 && (text[end] == '!' || text[end] == ':')) break;
    }
    const std::string_view name = text.substr(0, end);
    char conversion = '\0';
    std::string_view spec;
    if (end < text.size() && text[end] == '!') {
      conversion = end + 1 < text.size() ? text[end + 1] : '\0';
      end += 2;
      if (end < text.size() && text[end] != ':') fail("expected ':' after conversion specifier");
    }
    if (end < text.size()) spec = text.substr(end + 1);
    Value value = named(name);
    const std::string full_spec = run(spec, depth - 1);
    if (conversion == 'r' || conversion == 'a') {
      value = in_.text(in_.repr(value));
    } else if (conversion == 's') {
      value = in_.text(in_.printed(value));
    } else if (conversion != '\0') {
      fail(fmt::format("Unknown conversion specifier '{}'", conversion));
    }
    const std::string out = full_spec.empty() ? in_.printed(value) : spec_text(value, full_spec);
    in_.scan(out.size());
    return markup_ && !value.is_markup() ? escape_html(out) : out;
  }

  static bool is_index(std::string_view text) {
    return !text.empty() && text.size() < 10 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  Value named(std::string_view name) {
    size_t at = std::min(name.find_first_of(".["), name.size());
    Value value = first(name.substr(0, at));
    while (at < name.size()) {
      if (name[at] == '.') {
        const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) fail("Empty attribute in format string");
        value = in_.attribute(value, make_string(std::string(name.substr(at + 1, end - at - 1))));
        at = end;
      } else if (name[at] == '[') {
        const size_t end = name.find(']', at);
        if (end == name.npos) fail("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, end - at - 1);
        if (key.empty()) fail("Empty attribute in format string");
        value = in_.item(value, is_index(key) ? Value::integer(std::stoll(std::string(key)))
                                              : make_string(std::string(key)));
        at = end + 1;
      } else {
        fail("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  Value first(std::string_view name) {
    if (name.empty() || is_index(name)) {
      if (name.empty() ? by_number_ : automatic_ > 0)
        fail("cannot switch between manual and automatic field numbering");
      by_number_ = by_number_ || !name.empty();
      const size_t i = name.empty() ? automatic_++ : std::stoull(std::string(name));
      if (i >= args_.positional.size())
        fail("Replacement index out of range for positional args tuple");
      return args_.positional[i];
    }
    in_.step(args_.named.size() / 8);
    for (const auto& [known, value] : args_.named)
      if (known == name) return value;
    fail(fmt::format("the format names the argument '{}', which is not given", name));
  }

  Evaluator& in_;
  const bool markup_;
  const CallArgs& args_;
  size_t automatic_ = 0;
  bool by_number_ = false;
};

}  // namespace

Value percent_format(Evaluator& in, const Value& format, const Value& arguments) {
  return PercentFormatter(in, format, arguments).run();
}

Value brace_format(Evaluator& in, const Value& format, const CallArgs& args) {
  return in.text_like(format, BraceFormatter(in, format, args).run(text_of(format), 2));
}

}  // namespace pando::jinja
