// Ids of models on a hub, and names of their files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pando::hub {

struct ModelId {
  std::string organisation, name;
  // The part after the colon: a GGUF file of the repository ("q4/x.gguf"), or a quantisation
  // ("Q4_K_M"). Empty: there is no colon.
  std::string choice = {};

  std::string repository() const { return organisation + "/" + name; }
  bool names_file() const { return choice.ends_with(".gguf"); }
  std::string text() const { return repository() + (choice.empty() ? "" : ":" + choice); }
};

// Reads "org/name", "org/name:choice" or "org/name/file.gguf". Nothing for any other text.
std::optional<ModelId> parse_model_id(std::string_view text);

// True if the name leads to a file below a folder, and nowhere else: relative, no "..", no empty
// part, no control character or backslash, parts of at most 255 bytes.
bool is_safe_name(std::string_view name);
// True for the name of a branch, a tag or a commit that is safe as a path too.
bool is_revision(std::string_view text);
// True for the 40 digits of a commit.
bool is_commit(std::string_view text);

// Percent-encoded for a URL. `keep`: characters besides letters, digits and "-._~" that stay.
std::string url_encoded(std::string_view text, std::string_view keep = "");

}  // namespace pando::hub
