#include "hub/model_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace pando::hub {
namespace {

constexpr size_t kLongestId = 96, kLongestPart = 255;

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// One of the two names in an id. The cache writes "--" for the slash between them.
bool is_id_part(std::string_view part) {
  const auto allowed = [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
  };
  return !part.empty() && part[0] != '.' && part[0] != '-' && std::ranges::all_of(part, allowed) &&
         part.find("--") == part.npos && part.find("..") == part.npos;
}

bool is_choice(std::string_view choice) {
  if (choice.ends_with(".gguf")) return is_safe_name(choice);
  const auto allowed = [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
  };
  return !choice.empty() && choice.size() <= kLongestPart && std::ranges::all_of(choice, allowed);
}

}  // namespace

std::optional<ModelId> parse_model_id(std::string_view text) {
  std::string_view choice;
  const size_t colon = text.find(':');
  if (colon != text.npos) {
    choice = text.substr(colon + 1);
    if (!is_choice(choice)) return std::nullopt;
    text = text.substr(0, colon);
  }
  const size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const std::string_view organisation = text.substr(0, slash);
  std::string_view name = text.substr(slash + 1);
  if (const size_t second = name.find('/'); second != name.npos && colon == text.npos) {
    choice = name.substr(second + 1);
    if (choice.find('/') != choice.npos || !choice.ends_with(".gguf") || !is_choice(choice))
      return std::nullopt;
    name = name.substr(0, second);
  }
  if (!is_id_part(organisation) || !is_id_part(name) ||
      organisation.size() + 1 + name.size() > kLongestId)
    return std::nullopt;
  return ModelId{std::string(organisation), std::string(name), std::string(choice)};
}

bool is_safe_name(std::string_view name) {
  for (;;) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    const auto bad = [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\';
    };
    if (part.empty() || part == "." || part == ".." || part.size() > kLongestPart ||
        std::ranges::any_of(part, bad))
      return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
}

bool is_revision(std::string_view text) {
  const auto allowed = [](char c) {
    return is_alphanumeric(c) || std::string_view("-_./+@=#").find(c) != std::string_view::npos;
  };
  return is_safe_name(text) && text.find("..") == text.npos && std::ranges::all_of(text, allowed);
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string url_encoded(std::string_view text, std::string_view keep) {
  std::string encoded;
  for (const char c : text) {
    if (is_alphanumeric(c) || std::string_view("-._~").find(c) != std::string_view::npos ||
        keep.find(c) != keep.npos)
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace pando::hub
