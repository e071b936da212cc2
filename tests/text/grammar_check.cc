// Compiles grammars and reads texts by them, for tests/text/json_schema_test.py.
//
// usage: grammar_check [TOKENIZER] < LINES
//
// A line is {"schema": TEXT, "texts": [...]}, or "regex", "gbnf" or "lark" for "schema". The answer
// is
// {"error": MESSAGE}, or {"allowed": [...]}, a value for each text. With a tokenizer also
// "mask_us": the time of each mask, along each text that is allowed.
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "text/grammar/matcher.h"

using namespace pando;  // NOLINT: a program
using nlohmann::json;

namespace {

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

Result<grammar::GrammarPtr> compile(const json& line) {
  if (line.contains("schema")) return grammar::from_json_schema(line["schema"].get<std::string>());
  if (line.contains("regex")) return grammar::from_regex(line["regex"].get<std::string>());
  if (line.contains("gbnf")) return grammar::from_gbnf(line["gbnf"].get<std::string>());
  return grammar::from_lark(line.at("lark").get<std::string>());
}

// Reads `text` token by token. False if a mask and accept() do not agree, or it is refused.
bool follow(const std::shared_ptr<const grammar::MaskTable>& masks, const Tokenizer& tokenizer,
            const std::string& text, json* times) {
  grammar::Matcher matcher(masks);
  std::vector<uint64_t> bits(masks->vocabulary().n_mask_words());
  const auto tokens = tokenizer.encode(text, false);
  if (!tokens) return false;
  for (const Token token : *tokens) {
    const auto start = std::chrono::steady_clock::now();
    const auto n = matcher.mask(bits);
    times->push_back(microseconds_since(start));
    const bool is_set = bits[static_cast<size_t>(token) / 64] >> (token % 64) & 1;
    if (!n || !is_set || !matcher.accept(token)) return false;
  }
  return matcher.can_end();
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<Tokenizer> tokenizer;
  grammar::MaskStorePtr store;
  if (argc > 1) {
    auto loaded = Tokenizer::load(std::filesystem::path(argv[1]));
    if (!loaded) {
      std::cerr << loaded.error().message() << '\n';
      return 1;
    }
    tokenizer = std::move(*loaded);
    store = std::make_shared<grammar::MaskStore>(
        std::make_shared<const grammar::Vocabulary>(*tokenizer));
  }
  for (std::string text; std::getline(std::cin, text);) {
    const json line = json::parse(text);
    const auto start = std::chrono::steady_clock::now();
    const auto grammar = compile(line);
    json out{{"compile_us", microseconds_since(start)}};
    if (!grammar) {
      out["error"] = grammar.error().message();
    } else {
      out["n_states"] = (*grammar)->n_states();
      out["allowed"] = json::array();
      out["mask_us"] = json::array();
      std::shared_ptr<const grammar::MaskTable> masks;
      if (store) masks = std::make_shared<const grammar::MaskTable>(*grammar, store);
      for (const json& one : line["texts"]) {
        const auto allowed = grammar::allows(*grammar, one.get<std::string>());
        out["allowed"].push_back(allowed ? json(*allowed) : json(allowed.error().message()));
        if (masks && allowed && *allowed &&
            !follow(masks, *tokenizer, one.get<std::string>(), &out["mask_us"]))
          out["allowed"].back() = "the masks do not allow it";
      }
    }
    std::cout << out.dump() << std::endl;
  }
}
