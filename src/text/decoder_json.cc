#include "text/decoder_json.h"

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace pando {
namespace {

// Most bytes that the steps may make of one byte, so that a file cannot ask for unlimited memory.
constexpr size_t kMostGrowth = 4096;

constexpr std::string_view kOfferedDecoders =
    "ByteLevel, ByteFallback, Replace, Metaspace, Strip, Fuse, WordPiece, BPEDecoder, CTC";

// The replacements of the library's "cleanup", in its order.
constexpr std::pair<const char*, const char*> kCleaned[] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

// True for the form of Strip in llm-jp's files. "^" matches at the start of each line, and
// "(?<!\n)" excludes all lines but the first.
bool strips_first_space(const JsonPlace& replace) {
  const JsonPlace regex = replace.at("pattern").at("Regex");
  const JsonPlace content = replace.at("content");
  return !regex.absent() && regex.json() == "(?<!\\n)^ " && !content.absent() &&
         content.json() == "";
}

Result<std::string> read_some_text(const JsonPlace& place) {
  Result<std::string> text = place.text();
  if (text.ok() && text->empty()) return place.wrong("at least one character");
  return text;
}

Result<size_t> read_count(const JsonPlace& place) {
  const Result<int64_t> count = place.integer();
  if (!count.ok()) return count.error();
  if (*count < 0) return place.wrong("0 or more");
  return static_cast<size_t>(*count);
}

class DecoderReader {
 public:
  Status read(const JsonPlace& step) {
    const std::string_view type = step.type_name();
    if (type == "ByteLevel") return byte_level(step);
    if (type == "ByteFallback") return byte_fallback();
    if (type == "Fuse") return fuse();
    if (type == "Replace") return replace(step);
    if (type == "Metaspace") return metaspace(step);
    if (type == "Strip") return strip(step);
    if (type == "WordPiece") return word_piece(step);
    if (type == "BPEDecoder") return word_ends(step);
    if (type == "CTC") return ctc(step);
    return step.not_offered(kOfferedDecoders);
  }

  Result<Decoder> take(const JsonPlace& place) {
    if (growth_ > kMostGrowth)
      return unsupported("'{}': field '{}' may make more than {} bytes out of one, expected fewer",
                         place.file(), place.name(), kMostGrowth);
    if (!out_.by_token) out_.strips_leading_space = false;
    return std::move(out_);
  }

 private:
  Status byte_level(const JsonPlace& step) {
    if (!out_.steps.empty()) return step.not_offered("ByteLevel as the first step");
    out_.byte_level = fused_ = true;
    apart_ = false;
    out_.steps.emplace_back(decoding::Fuse{.of_bytes = true});
    return {};
  }

  Status byte_fallback() {
    out_.by_token = out_.by_token && apart_;
    apart_ = false;
    out_.steps.emplace_back(decoding::ByteFallback{});
    return {};
  }

  Status fuse() {
    apart_ = false;
    if (!std::exchange(fused_, true)) out_.steps.emplace_back(decoding::Fuse{});
    return {};
  }

  void add_replace(std::string from, std::string to) {
    out_.by_token = out_.by_token && apart_;
    const bool is_character = next_utf8(from).length == static_cast<int>(from.size());
    if (!apart_ && !is_character) out_.changed.push_back(from);
    const size_t growth = std::max<size_t>(1, (to.size() + from.size() - 1) / from.size());
    growth_ = std::min(growth_ * std::min(growth, kMostGrowth + 1), kMostGrowth + 1);
    out_.steps.emplace_back(decoding::Replace{std::move(from), std::move(to)});
  }

  Status replace(const JsonPlace& step) {
    if (fused_ && strips_first_space(step)) return add_strip({.character = " ", .start = 1});
    if (is_text_pattern(step.at("pattern"))) {
      Result<normal::Replace> read = read_replace(step);
      if (!read.ok()) return read.error();
      add_replace(std::move(read->from), std::move(read->to));
      return {};
    }
    if (!apart_)
      return step.at("pattern").not_offered(
          "a pattern that is a text, where the step reads more than single tokens");
    Result<SplitPattern> pattern = read_pattern(step.at("pattern"));
    if (!pattern.ok()) return pattern.error();
    Result<std::string> to = step.at("content").text();
    if (!to.ok()) return to.error();
    out_.steps.emplace_back(decoding::ReplaceMatches{std::move(*pattern), std::move(*to)});
    return {};
  }

  Status metaspace(const JsonPlace& step) {
    const Result<pre::Metaspace> read = read_metaspace(step);
    if (!read.ok()) return read.error();
    const bool takes_first = read->prepend != pre::Metaspace::Prepend::kNever;
    if (fused_ || !takes_first) {
      add_replace(read->mark, takes_first ? "" : " ");
      return {};
    }
    add_of_list(decoding::Metaspace{read->mark});
    return {};
  }

  Status strip(const JsonPlace& step) {
    const Result<std::string> character = read_some_text(step.at("content"));
    if (!character.ok()) return character.error();
    if (character->size() != static_cast<size_t>(next_utf8(*character).length))
      return step.at("content").wrong("one character");
    const Result<size_t> start = read_count(step.at("start")), stop = read_count(step.at("stop"));
    if (!start.ok()) return start.error();
    if (!stop.ok()) return stop.error();
    return add_strip({*character, *start, *stop});
  }

  Status add_strip(decoding::Strip strip) {
    const bool is_usual = fused_ && strip.character == " " && strip.start == 1 && strip.stop == 0 &&
                          !out_.strips_leading_space;
    out_.strips_leading_space = out_.strips_leading_space || is_usual;
    out_.by_token = out_.by_token && (apart_ || is_usual);
    if (fused_ && strip.stop > 0) out_.changed.push_back(strip.character);
    out_.steps.emplace_back(std::move(strip));
    return {};
  }

  Status word_piece(const JsonPlace& step) {
    const Result<std::string> prefix = step.at("prefix").text();
    if (!prefix.ok()) return prefix.error();
    if (!fused_) add_of_list(decoding::WordPiece{*prefix});
    const Result<bool> cleans = step.at("cleanup").boolean(true);
    if (!cleans.ok()) return cleans.error();
    for (const auto& [from, to] : kCleaned)
      if (*cleans) add_replace(from, to);
    return {};
  }

  Status word_ends(const JsonPlace& step) {
    const Result<std::string> suffix = read_some_text(step.at("suffix"));
    if (!suffix.ok()) return suffix.error();
    out_.changed.emplace_back();
    if (fused_)
      add_replace(*suffix, "");
    else
      add_of_list(decoding::WordEnds{*suffix});
    return {};
  }

  Status ctc(const JsonPlace& step) {
    const Result<std::string> pad = read_some_text(step.at("pad_token")),
                              delimiter = read_some_text(step.at("word_delimiter_token"));
    if (!pad.ok()) return pad.error();
    if (!delimiter.ok()) return delimiter.error();
    const Result<bool> cleans = step.at("cleanup").boolean(true);
    if (!cleans.ok()) return cleans.error();
    std::vector<decoding::Replace> replaced = {{*pad, ""}};
    for (const auto& [from, to] : kCleaned)
      if (*cleans) replaced.push_back({from, to});
    if (*cleans) replaced.push_back({*delimiter, " "});
    out_.changed.emplace_back();
    if (fused_)
      for (decoding::Replace& one : replaced) add_replace(std::move(one.from), std::move(one.to));
    else
      add_of_list(decoding::Ctc{std::move(replaced)});
    return {};
  }

  // Adds a step that treats some texts of the list differently from others.
  void add_of_list(DecoderStep step) {
    out_.by_token = apart_ = false;
    out_.steps.push_back(std::move(step));
  }

  Decoder out_;
  bool apart_ = true;   // each text is from one token
  bool fused_ = false;  // there is one text
  size_t growth_ = 1;
};

}  // namespace

Result<Decoder> read_decoder(const JsonPlace& place) {
  // The default of the library `tokenizers`.
  if (place.absent()) return Decoder{.spaced = true, .strips_leading_space = true};
  const auto list = steps_of(place, "decoders");
  if (!list.ok()) return list.error();
  DecoderReader reader;
  for (const JsonPlace& step : *list)
    if (Status done = reader.read(step); !done.ok()) return done.error();
  return reader.take(place);
}

}  // namespace pando
