#include "text/grammar/decimal.h"

#include <algorithm>

#include "base/json.h"

namespace pando::grammar {

namespace {

constexpr size_t kMostDigits = 400;
constexpr uint64_t kMostRemainders = 20'000;

Regex digits(char first, char last) {
  return of_set(CharSet({{static_cast<char32_t>(first), static_cast<char32_t>(last)}}));
}
Regex digit() { return digits('0', '9'); }
Regex some_digits() { return repeat(digit(), 0); }
Regex minus() { return of_text("-"); }
Regex any_fraction() { return repeat(sequence({of_text("."), repeat(digit(), 1)}), 0, 1); }
Regex zeros(uint32_t least) { return repeat(of_text("0"), least); }
Regex any_whole() { return one_of({of_text("0"), sequence({digits('1', '9'), some_digits()})}); }

// Wholes above or below `whole`: with more or fewer digits, or with as many.
Regex wholes_above(const std::string& whole) {
  std::vector<Regex> all{
      sequence({digits('1', '9'), repeat(digit(), static_cast<uint32_t>(whole.size()))})};
  for (size_t i = 0; i < whole.size(); ++i)
    if (whole[i] < '9')
      all.push_back(
          sequence({of_text(whole.substr(0, i)), digits(static_cast<char>(whole[i] + 1), '9'),
                    repeat(digit(), static_cast<uint32_t>(whole.size() - i - 1),
                           static_cast<uint32_t>(whole.size() - i - 1))}));
  return one_of(std::move(all));
}
Regex wholes_below(const std::string& whole) {
  std::vector<Regex> all;
  if (whole != "0") all.push_back(of_text("0"));
  if (whole.size() > 1)
    all.push_back(
        sequence({digits('1', '9'), repeat(digit(), 0, static_cast<uint32_t>(whole.size() - 2))}));
  for (size_t i = 0; i < whole.size(); ++i) {
    const char least = i == 0 ? '1' : '0';
    if (whole[i] > least)
      all.push_back(
          sequence({of_text(whole.substr(0, i)), digits(least, static_cast<char>(whole[i] - 1)),
                    repeat(digit(), static_cast<uint32_t>(whole.size() - i - 1),
                           static_cast<uint32_t>(whole.size() - i - 1))}));
  }
  return one_of(std::move(all));
}

// Fractions, with their point, behind a whole that is the bound's own.
Regex fractions_from(const std::string& fraction, bool is_above) {
  if (fraction.empty())
    return is_above ? sequence({of_text("."), zeros(0), digits('1', '9'), some_digits()})
                    : any_fraction();
  std::vector<Regex> all;
  for (size_t i = 0; i < fraction.size(); ++i)
    if (fraction[i] < '9')
      all.push_back(sequence({of_text(fraction.substr(0, i)),
                              digits(static_cast<char>(fraction[i] + 1), '9'), some_digits()}));
  all.push_back(is_above ? sequence({of_text(fraction), zeros(0), digits('1', '9'), some_digits()})
                         : sequence({of_text(fraction), some_digits()}));
  return sequence({of_text("."), one_of(std::move(all))});
}
Regex fractions_to(const std::string& fraction, bool is_below) {
  if (fraction.empty())
    return is_below ? one_of({}) : repeat(sequence({of_text("."), zeros(1)}), 0, 1);
  std::vector<Regex> all;
  for (size_t i = 0; i < fraction.size(); ++i) {
    if (i > 0) all.push_back(of_text(fraction.substr(0, i)));
    if (fraction[i] > '0')
      all.push_back(sequence({of_text(fraction.substr(0, i)),
                              digits('0', static_cast<char>(fraction[i] - 1)), some_digits()}));
  }
  if (!is_below) all.push_back(sequence({of_text(fraction), zeros(0)}));
  return one_of({sequence({of_text("."), one_of(std::move(all))}), sequence({})});
}

// Numbers without sign, compared with the bound's digits.
Regex sizes_from(const Decimal& bound, bool is_above) {
  return one_of({sequence({wholes_above(bound.whole), any_fraction()}),
                 sequence({of_text(bound.whole), fractions_from(bound.fraction, is_above)})});
}
Regex sizes_to(const Decimal& bound, bool is_below) {
  return one_of({sequence({wholes_below(bound.whole), any_fraction()}),
                 sequence({of_text(bound.whole), fractions_to(bound.fraction, is_below)})});
}
Regex any_size() { return sequence({any_whole(), any_fraction()}); }

}  // namespace

std::optional<Decimal> decimal_of(const nlohmann::ordered_json& number) {
  std::string text = kept_digits(number);
  if (text.empty()) {
    if (!number.is_number()) return std::nullopt;
    text = number.dump();
  }
  Decimal out;
  out.is_negative = text[0] == '-';
  if (out.is_negative) text.erase(0, 1);
  long exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != text.npos) {
    exponent = std::strtol(text.c_str() + e + 1, nullptr, 10);
    text.resize(e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string all = text.substr(0, point);
  if (point < text.size()) all += text.substr(point + 1);
  long whole_len = static_cast<long>(point) + exponent;
  if (whole_len > static_cast<long>(kMostDigits) || whole_len < -static_cast<long>(kMostDigits) ||
      all.size() > kMostDigits)
    return std::nullopt;
  if (whole_len < 0) {
    all.insert(0, static_cast<size_t>(-whole_len), '0');
    whole_len = 0;
  }
  if (static_cast<size_t>(whole_len) > all.size())
    all.append(static_cast<size_t>(whole_len) - all.size(), '0');
  out.whole = all.substr(0, static_cast<size_t>(whole_len));
  out.whole.erase(0, out.whole.find_first_not_of('0'));
  if (out.whole.empty()) out.whole = "0";
  out.fraction = all.substr(static_cast<size_t>(whole_len));
  out.fraction.resize(out.fraction.find_last_not_of('0') + 1);
  if (out.is_zero()) out.is_negative = false;
  return out;
}

std::string text_of(const Decimal& number) {
  return (number.is_negative ? "-" : "") + number.whole +
         (number.fraction.empty() ? "" : "." + number.fraction);
}

bool is_less(const Decimal& a, const Decimal& b) {
  if (a.is_negative != b.is_negative) return a.is_negative;
  const auto below = [](const Decimal& x, const Decimal& y) {
    if (x.whole.size() != y.whole.size()) return x.whole.size() < y.whole.size();
    return x.whole != y.whole ? x.whole < y.whole : x.fraction < y.fraction;
  };
  return a.is_negative ? below(b, a) : below(a, b);
}

Regex integer_texts() { return sequence({repeat(minus(), 0, 1), any_whole()}); }

Regex number_texts() {
  return sequence({repeat(minus(), 0, 1), any_whole(), any_fraction(),
                   repeat(sequence({of_set(CharSet({{'e', 'e'}, {'E', 'E'}})),
                                    repeat(of_set(CharSet({{'+', '+'}, {'-', '-'}})), 0, 1),
                                    repeat(digit(), 1)}),
                          0, 1)});
}

Regex short_integer_texts() {
  const Regex more = sequence({of_set(CharSet({{'1', '9'}})), repeat(digit(), 0, 17)});
  return sequence({repeat(minus(), 0, 1), one_of({of_text("0"), more})});
}

Regex short_number_texts() {
  return sequence({short_integer_texts(),
                   repeat(sequence({of_text("."), repeat(digit(), 1, 18)}), 0, 1),
                   repeat(sequence({of_set(CharSet({{'e', 'e'}, {'E', 'E'}})),
                                    repeat(of_set(CharSet({{'+', '+'}, {'-', '-'}})), 0, 1),
                                    repeat(digit(), 1, 2)}),
                          0, 1)});
}

Regex texts_from(const Decimal& bound, bool is_above) {
  if (bound.is_negative)
    return one_of({any_size(), sequence({minus(), sizes_to(bound, is_above)})});
  if (bound.is_zero() && !is_above) {
    const Regex zero = sequence({of_text("-0"), fractions_to("", false)});
    return one_of({any_size(), zero});
  }
  return sizes_from(bound, is_above);
}

Regex texts_to(const Decimal& bound, bool is_below) {
  if (bound.is_negative) return sequence({minus(), sizes_from(bound, is_below)});
  if (bound.is_zero() && is_below) return sequence({minus(), sizes_from(bound, true)});
  return one_of({sequence({minus(), any_size()}), sizes_to(bound, is_below)});
}

Regex texts_equal(const Decimal& number) {
  const Regex size = number.fraction.empty()
                         ? sequence({of_text(number.whole), fractions_to("", false)})
                         : sequence({of_text(number.whole + "." + number.fraction), zeros(0)});
  if (number.is_zero()) return sequence({repeat(minus(), 0, 1), size});
  return number.is_negative ? sequence({minus(), size}) : size;
}

std::optional<CharDfa> multiples_of(const Decimal& divisor) {
  if (divisor.is_negative || divisor.is_zero()) return std::nullopt;
  // Numbers are read as multiples of 10^-n: the divisor's own digits.
  const size_t n = divisor.fraction.size();
  uint64_t modulus = 0;
  for (const char c : divisor.whole + divisor.fraction) {
    modulus = modulus * 10 + static_cast<uint64_t>(c - '0');
    if (modulus * (n + 1) > kMostRemainders) return std::nullopt;
  }
  // Classes: 0 is all else, 1 "-", 2 ".", 3 to 12 the digits.
  std::vector<CharSet> classes{CharSet({{'-', '.'}, {'0', '9'}}).complement(), CharSet::one('-'),
                               CharSet::one('.')};
  for (char32_t c = '0'; c <= '9'; ++c) classes.push_back(CharSet::one(c));
  // States: 0 the start, 1 behind "-", 2 behind a leading 0, 3 + r in the whole, then for 0 to n
  // digits of the fraction r, once for "." just read and once behind a digit.
  const auto m = static_cast<uint32_t>(modulus);
  const auto in_whole = [&](uint32_t r) { return 3 + r; };
  const auto behind_point = [&](uint32_t r) { return 3 + m + r; };
  const auto in_fraction = [&](size_t n_read, uint32_t r) {
    return 3 + 2 * m + static_cast<uint32_t>(n_read) * m + r;
  };
  const uint32_t n_states = in_fraction(n, m - 1) + 1;
  std::vector<uint32_t> next(size_t{n_states} * 13, CharDfa::kDead);
  std::vector<bool> accepts(n_states, false);
  const auto to = [&](uint32_t from, int of_class) -> uint32_t& {
    return next[size_t{from} * 13 + static_cast<size_t>(of_class)];
  };
  const auto is_multiple = [&](size_t n_read, uint32_t r) {
    uint64_t rest = r;
    for (size_t i = n_read; i < n; ++i) rest = rest * 10 % m;
    return rest == 0;
  };
  to(0, 1) = 1;
  for (const uint32_t from : {0u, 1u}) {
    to(from, 3) = 2;
    for (uint32_t d = 1; d < 10; ++d) to(from, static_cast<int>(3 + d)) = in_whole(d % m);
  }
  to(2, 2) = behind_point(0);
  accepts[2] = true;
  for (uint32_t r = 0; r < m; ++r) {
    to(in_whole(r), 2) = behind_point(r);
    accepts[in_whole(r)] = is_multiple(0, r);
    for (uint32_t d = 0; d < 10; ++d) {
      const auto digit_class = static_cast<int>(3 + d);
      const auto more = static_cast<uint32_t>((uint64_t{r} * 10 + d) % m);
      to(in_whole(r), digit_class) = in_whole(more);
      // Behind the divisor's own digits only zeros leave a multiple.
      for (size_t i = 0; i <= n; ++i) {
        if (i < n)
          to(in_fraction(i, r), digit_class) = in_fraction(i + 1, more);
        else if (d == 0)
          to(in_fraction(i, r), digit_class) = in_fraction(i, r);
      }
      if (n > 0)
        to(behind_point(r), digit_class) = in_fraction(1, more);
      else if (d == 0)
        to(behind_point(r), digit_class) = in_fraction(0, r);
    }
    for (size_t i = 0; i <= n; ++i) accepts[in_fraction(i, r)] = is_multiple(i, r);
  }
  return CharDfa::of_table(std::move(classes), std::move(next), std::move(accepts));
}

}  // namespace pando::grammar
