#include "text/normalizer.h"

#include <algorithm>
#include <cstdint>

#include "base/errors.h"
#include "text/characters.h"
#include "text/utf8.h"

namespace pando {
namespace {

// Calls `visit` for each character with its text.
template <class Visit>
void each_character(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text.substr(at));
    visit(step.point, text.substr(at, step.length));
    at += step.length;
  }
}

template <class Drop>
std::string without(std::string_view text, Drop drop) {
  std::string out;
  each_character(text, [&](char32_t point, std::string_view character) {
    if (!drop(point)) out += character;
  });
  return out;
}

std::string lowercase(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t point, std::string_view) {
    const Lower lower = to_lower(point);
    append_utf8(lower.first, &out);
    if (lower.second != 0) append_utf8(lower.second, &out);
  });
  return out;
}

std::string strip(std::string_view text, const normal::Strip& step) {
  const auto is_space_text = [](std::string_view character) {
    return is_space(next_utf8(character).point);
  };
  while (step.left && !text.empty() && is_space_text(text)) {
    text.remove_prefix(utf8_length(text.front()));
  }
  while (step.right && !text.empty() && is_space_text(last_character(text))) {
    text.remove_suffix(last_character(text).size());
  }
  return std::string(text);
}

std::string fewer_spaces(std::string_view text, std::string_view mark) {
  std::string out;
  for (char c : text) {
    const bool again = c == ' ' && (out.empty() || out.back() == ' ');
    if (!again) out += c;
  }
  while (out.ends_with(' ') || (!mark.empty() && out.ends_with(mark))) {
    out.resize(out.size() - (out.ends_with(' ') ? 1 : mark.size()));
  }
  return out;
}

bool is_dropped_by_nmt(char32_t point) {
  return (point >= 0x01 && point <= 0x08) || point == 0x0B || (point >= 0x0E && point <= 0x1F) ||
         point == 0x7F || point == 0x8F || point == 0x9F;
}

bool is_space_to_nmt(char32_t point) {
  switch (point) {
    case 0x09:
    case 0x0A:
    case 0x0C:
    case 0x0D:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x2581:
    case 0xFEFF:
    case 0xFFFD:
      return true;
    default:
      return point >= 0x200B && point <= 0x200F;
  }
}

std::string normalise_for_nmt(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t point, std::string_view character) {
    if (!is_dropped_by_nmt(point)) out += is_space_to_nmt(point) ? " " : character;
  });
  return out;
}

// The steps of BERT's own code, in its order.
std::string normalise_for_bert(std::string_view text, const normal::Bert& step) {
  std::string out(text);
  const auto is_line_space = [](char32_t c) { return c == '\t' || c == '\n' || c == '\r'; };
  if (step.clean) {
    std::string clean;
    each_character(out, [&](char32_t point, std::string_view character) {
      const bool drop = point == 0 || point == 0xFFFD;
      if (drop || (is_control(point) && !is_line_space(point))) return;
      clean += is_space(point) ? " " : character;
    });
    out = std::move(clean);
  }
  if (step.ideographs) {
    std::string apart;
    each_character(out, [&](char32_t point, std::string_view character) {
      const bool pad = is_ideograph(point);
      if (pad) apart += ' ';
      apart += character;
      if (pad) apart += ' ';
    });
    out = std::move(apart);
  }
  if (step.strip_accents) out = without(to_unicode_form(out, UnicodeForm::kNfd), is_accent);
  if (step.lowercase) out = lowercase(out);
  return out;
}

struct Apply {
  std::string_view text;
  size_t most;  // bytes of the result
  using Text = Result<std::string>;

  Error too_long() const {
    return unsupported("the tokenizer's normalizer expands a text to more than {} bytes", most);
  }

  Text operator()(UnicodeForm form) const { return to_unicode_form(text, form); }
  Text operator()(const normal::Lowercase&) const { return lowercase(text); }
  Text operator()(const normal::StripAccents&) const { return without(text, is_mark); }
  Text operator()(const normal::Strip& step) const { return strip(text, step); }
  Text operator()(const normal::Prepend& step) const {
    return text.empty() ? std::string() : step.text + std::string(text);
  }
  Text operator()(const normal::Replace& step) const {
    auto replaced = replace_all_within(most, text, step.from, step.to);
    if (!replaced) return too_long();
    return std::move(*replaced);
  }
  Text operator()(const normal::ReplaceMatches& step) const {
    std::string out;
    if (text.empty()) return out;  // has no match, as in the library `tokenizers`
    const Status done = step.pattern.split(text, [&](std::string_view piece, bool is_match) {
      if (out.size() <= most) out += is_match ? std::string_view(step.to) : piece;
    });
    if (!done.ok()) return done.error();
    return out;
  }
  Text operator()(const normal::MapCharacters& step) const {
    auto mapped = step.longest ? step.map->apply_longest(text, most) : step.map->apply(text, most);
    if (!mapped) return too_long();
    return std::move(*mapped);
  }
  Text operator()(const normal::Nmt&) const { return normalise_for_nmt(text); }
  Text operator()(const normal::FewerSpaces& step) const { return fewer_spaces(text, step.mark); }
  Text operator()(const normal::Bert& step) const { return normalise_for_bert(text, step); }
};

}  // namespace

Result<std::string> Normalizer::apply(std::string_view text, bool continues) const {
  Result<std::string> out = std::string(text);
  const size_t most = most_text(text.size());
  for (const NormalStep& step : steps_) {
    if (continues && std::holds_alternative<normal::Prepend>(step)) continue;
    const Apply apply{*out, most};
    out = std::visit(apply, step);
    if (!out.ok()) break;
    if (out->size() > most) return apply.too_long();
  }
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  return *replace_all_within(SIZE_MAX, text, from, to);
}

std::optional<std::string> replace_all_within(size_t most, std::string_view text,
                                              std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(std::min(most, text.size()));
  while (true) {
    const size_t at = text.find(from);
    out += text.substr(0, at);
    if (out.size() > most) return std::nullopt;
    if (at == text.npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

}  // namespace pando
