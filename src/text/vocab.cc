#include "text/vocab.h"

namespace pando {
namespace {

struct MergeTexts {
  std::string_view left;
  std::string_view right;
};

// Two words with one space between.
std::optional<MergeTexts> split_merge(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == 0 || space + 1 >= line.size() || space == line.npos) return std::nullopt;
  const MergeTexts texts{line.substr(0, space), line.substr(space + 1)};
  if (texts.right.find(' ') != line.npos) return std::nullopt;
  return texts;
}

// Adds a merge, or gives the text that the vocabulary lacks.
std::optional<std::string> add_merge(const MergeTexts& texts, const Vocab& vocab,
                                     std::vector<Merge>* merges) {
  const std::string joined = std::string(texts.left) + std::string(texts.right);
  const auto left = vocab.find(texts.left);
  const auto right = vocab.find(texts.right);
  const auto result = vocab.find(joined);
  if (!left) return std::string(texts.left);
  if (!right) return std::string(texts.right);
  if (!result) return joined;
  merges->push_back({*left, *right, *result, static_cast<uint32_t>(merges->size())});
  return std::nullopt;
}

std::optional<MergeTexts> merge_texts(const Json& merge) {
  if (merge.is_string()) return split_merge(merge.get_ref<const std::string&>());
  const bool pair =
      merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
  if (!pair) return std::nullopt;
  return MergeTexts{merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>()};
}

}  // namespace

bool Vocab::add(const std::string& text, Token id) {
  if (has(id) || !ids_.emplace(text, id).second) return false;
  if (id >= size()) {
    texts_.resize(id + 1);
    taken_.resize(id + 1);
  }
  texts_[id] = text;
  taken_[id] = true;
  return true;
}

std::optional<Token> Vocab::find(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

Result<std::vector<Merge>> merges_of_results(const std::vector<RankedText>& texts,
                                             const std::string& file) {
  std::unordered_map<std::string_view, Token> ids;
  for (const RankedText& text : texts) ids.emplace(text.text, text.id);
  std::vector<Merge> merges;
  for (const RankedText& text : texts) {
    for (size_t cut = 1; cut < text.text.size(); ++cut) {
      const auto left = ids.find(text.text.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(text.text.substr(cut));
      if (right == ids.end()) continue;
      merges.push_back({left->second, right->second, text.id, text.rank});
    }
    if (merges.size() > most_merges(texts.size())) {
      return unsupported(
          "'{}': {} pieces can be built in more than {} ways from two others, expected fewer", file,
          texts.size(), most_merges(texts.size()));
    }
  }
  return merges;
}

Result<Token> read_token_id(const JsonPlace& place) {
  const auto id = place.integer();
  if (!id.ok()) return id.error();
  if (*id < 0 || *id > kMaxToken) return place.wrong(fmt::format("an id from 0 to {}", kMaxToken));
  return static_cast<Token>(*id);
}

Result<Vocab> read_vocab(const JsonPlace& place) {
  if (Status object = place.expect_object(); !object.ok()) return object.error();
  const Token highest = max_token(place.json().size());
  Vocab vocab;
  for (const auto& [text, value] : place.json().items()) {
    const bool in_range = value.is_number_integer() && value >= 0 && value <= highest;
    if (!in_range) {
      return place.at(text).wrong(fmt::format("an id from 0 to {}", highest));
    }
    const Token id = value.get<Token>();
    if (!vocab.add(text, id)) {
      return place.at(text).wrong(fmt::format("an unused id ({} is '{}')", id, vocab.text(id)));
    }
  }
  if (vocab.size() == 0) return place.wrong("at least one token");
  return vocab;
}

Result<std::vector<Merge>> read_merges(const JsonPlace& place, const Vocab& vocab) {
  if (Status array = place.expect_array(); !array.ok()) return array.error();
  std::vector<Merge> merges;
  merges.reserve(place.json().size());
  for (size_t i = 0; i < place.json().size(); ++i) {
    const auto texts = merge_texts(place.json()[i]);
    if (!texts) return place.at(i).wrong("\"left right\" or [\"left\", \"right\"]");
    if (const auto lacking = add_merge(*texts, vocab, &merges)) {
      return place.at(i).wrong(
          fmt::format("tokens of the vocabulary, but '{}' is not one", *lacking));
    }
  }
  return merges;
}

Result<std::vector<Merge>> read_merge_list(const std::vector<std::string_view>& list,
                                           const std::string& file, const Vocab& vocab) {
  std::vector<Merge> merges;
  merges.reserve(list.size());
  for (std::string_view text : list) {
    const auto texts = split_merge(text);
    if (!texts) {
      return bad_file("'{}': merge {} is '{}', expected two tokens with a space between", file,
                      merges.size(), text);
    }
    if (const auto lacking = add_merge(*texts, vocab, &merges)) {
      return bad_file(
          "'{}': merge {} is '{}', expected tokens of the vocabulary, but '{}' is not one", file,
          merges.size(), text, *lacking);
    }
  }
  return merges;
}

Result<std::vector<Merge>> read_merge_lines(const std::string& text, const std::string& file,
                                            const Vocab& vocab) {
  std::vector<Merge> merges;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const auto texts = split_merge(line);
    if (!texts) {
      return bad_file("'{}': line {} is '{}', expected two tokens with a space between", file,
                      number, line);
    }
    if (const auto lacking = add_merge(*texts, vocab, &merges)) {
      return bad_file(
          "'{}': line {} is '{}', expected tokens of the vocabulary, but '{}' is not one", file,
          number, line, *lacking);
    }
  }
  return merges;
}

}  // namespace pando
