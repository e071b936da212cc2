// Grammars of all kinds: the input is a letter for the kind and the grammar, a zero byte, and bytes
// that choose tokens among those that the mask allows.
#include <algorithm>
#include <bit>

#include "fuzz/fuzz.h"
#include "text/grammar/matcher.h"

using namespace pando;  // NOLINT: a fuzz target has no other names
using namespace pando::grammar;

namespace {

Result<GrammarPtr> compile(char kind, std::string_view text) {
  switch (kind) {
    case 's':
      return from_json_schema(text);
    case 'r':
      return from_regex(text);
    case 'g':
      return from_gbnf(text);
    case 'l':
      return from_lark(text);
    default: {
      std::vector<std::string> choices;
      for (const std::string_view line : fuzz::files_of(text, 8)) choices.emplace_back(line);
      return from_choices(choices);
    }
  }
}

// All bytes, some pieces, and an end token, the last.
const MaskStorePtr& store() {
  static const MaskStorePtr all = [] {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
    for (const char* piece :
         {"{\"", "\":", "\",\"", "\"}", "}]", "ab", "12", "\xC3\xA9", "\xE2\x82", "\xAC\"", "\\u0"})
      bytes.emplace_back(piece);
    for (int i = 0; i < 800; ++i) bytes.push_back(std::string(1, 'w').append(std::to_string(i)));
    bytes.emplace_back("</s>");
    const auto end = static_cast<Token>(bytes.size() - 1);
    return std::make_shared<MaskStore>(
        std::make_shared<const Vocabulary>(std::move(bytes), std::vector<Token>{end}),
        size_t{1} << 20);
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [written, choices] = fuzz::pieces_of<2>(fuzz::text_of(data, size));
  if (written.empty()) return 0;
  const auto grammar = compile(written[0], written.substr(1));
  if (!grammar) {
    fuzz::check_error(grammar.error());
    return 0;
  }
  const Vocabulary& vocabulary = store()->vocabulary();
  const auto masks = std::make_shared<const MaskTable>(*grammar, store());
  Matcher matcher(masks);
  std::vector<uint64_t> bits(vocabulary.n_mask_words());
  std::string text;
  for (const char choice : choices.substr(0, 24)) {
    const auto n = matcher.mask(bits);
    if (!n) {
      fuzz::check_error(n.error());
      return 0;
    }
    if (matcher.is_ended()) break;
    fuzz::demand(*n > 0, "nothing is allowed, and the answer is not ended");
    size_t n_allowed = 0;
    for (const uint64_t word : bits) n_allowed += static_cast<size_t>(std::popcount(word));
    fuzz::demand(std::min<size_t>(n_allowed, 2) == *n, "another number of bits");
    size_t wanted = static_cast<unsigned char>(choice) % n_allowed;
    Token token = -1;
    for (size_t i = 0; i < vocabulary.size(); ++i) {
      if ((bits[i / 64] >> (i % 64) & 1) == 0) {
        if (i % 7 == 0)
          fuzz::demand(!Matcher(matcher).accept(static_cast<Token>(i)),
                       "allowed but not in the mask");
      } else if (wanted-- == 0) {
        token = static_cast<Token>(i);
        break;
      }
    }
    fuzz::demand(matcher.accept(token).ok(), "in the mask but not accepted");
    if (matcher.is_ended()) break;
    text += vocabulary.bytes(token);
    const auto is_whole = allows(*grammar, text);
    fuzz::demand(!is_whole || *is_whole == matcher.can_end(), "the end is another by bytes");
  }
  return 0;
}
