#include "text/text_template.h"

#include <algorithm>

#include "base/errors.h"

namespace pando {
namespace {

using Texts = std::vector<std::vector<Token>>;

void add_tokens_of_type(std::span<const Token> tokens, int type, std::vector<TemplatePart>* parts) {
  for (const Token token : tokens) parts->push_back({.token = token, .type = type});
}

void cut_text(std::vector<Token>& text, size_t most, bool at_end) {
  if (text.size() <= most) return;
  const auto n = static_cast<std::ptrdiff_t>(text.size() - most);
  text.erase(at_end ? text.end() - n : text.begin(), at_end ? text.end() : text.begin() + n);
}

// The shorter text keeps its length as long as the longer one can give way.
void cut_longest_first(Texts& texts, size_t most, bool at_end) {
  if (texts.size() == 1) return cut_text(texts[0], most, at_end);
  size_t shorter = std::min(texts[0].size(), texts[1].size());
  const bool swapped = texts[0].size() > texts[1].size();
  size_t longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = shorter + most % 2;
  }
  cut_text(texts[0], swapped ? longer : shorter, at_end);
  cut_text(texts[1], swapped ? shorter : longer, at_end);
}

// `most`: tokens of all texts together.
Status cut_texts(Texts& texts, size_t most, const PairLimit& limit) {
  size_t n = 0;
  for (const std::vector<Token>& text : texts) n += text.size();
  if (n <= most) return {};
  const bool both = limit.cut == PairLimit::Cut::kLongestFirst || texts.size() == 1 || most == 0;
  if (both) {
    cut_longest_first(texts, most, limit.at_end);
    return {};
  }
  const bool first = limit.cut == PairLimit::Cut::kFirst;
  std::vector<Token>& text = texts[first ? 0 : 1];
  const size_t excess = n - most;
  if (text.size() <= excess)
    return invalid_argument("the {} text has {} tokens, expected more than the {} over the limit",
                            first ? "first" : "second", text.size(), excess);
  cut_text(text, text.size() - excess, limit.at_end);
  return {};
}

}  // namespace

TextTemplates templates_around(std::span<const Token> before, std::span<const Token> after,
                               std::span<const Token> between, int second_type) {
  TextTemplates templates;
  add_tokens_of_type(before, 0, &templates.single);
  templates.single.push_back({.text = 0});
  add_tokens_of_type(after, 0, &templates.single);
  if (after.empty() && between.empty()) return templates;  // nothing would part the texts
  templates.pair = templates.single;
  add_tokens_of_type(between, 0, &templates.pair);
  templates.pair.push_back({.text = 1, .type = second_type});
  add_tokens_of_type(after, second_type, &templates.pair);
  return templates;
}

Result<TypedTokens> join_texts(const TextTemplates& templates, Texts texts,
                               const PairLimit& limit) {
  const bool is_pair = texts.size() == 2;
  const std::vector<TemplatePart>& parts = is_pair ? templates.pair : templates.single;
  if (parts.empty()) return unsupported("the tokenizer has no form for pairs of texts");
  size_t n_texts = 0;
  for (const std::vector<Token>& text : texts) n_texts += text.size();
  if (limit.most_tokens > 0) {
    const auto n_special = static_cast<size_t>(
        std::ranges::count_if(parts, [](const TemplatePart& part) { return part.text < 0; }));
    const auto most = static_cast<size_t>(limit.most_tokens);
    const Status cut = cut_texts(texts, most > n_special ? most - n_special : 0, limit);
    if (!cut.ok()) return cut.error();
  }
  TypedTokens joined;
  for (const TemplatePart& part : parts) {
    if (part.text < 0) {
      joined.tokens.push_back(part.token);
    } else {
      const std::vector<Token>& text = texts[static_cast<size_t>(part.text)];
      joined.tokens.insert(joined.tokens.end(), text.begin(), text.end());
    }
    joined.types.resize(joined.tokens.size(), static_cast<uint8_t>(part.type));
  }
  for (const std::vector<Token>& text : texts) n_texts -= text.size();
  joined.n_cut = static_cast<int>(n_texts);
  return joined;
}

}  // namespace pando
