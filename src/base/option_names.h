// Names of options in messages. The library calls an option kv_memory, the command line
// --kv-memory. A message holds an OptionName, which is written as the reader of the messages of
// this process knows it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace pando {

// How messages write the option kv_memory.
enum class OptionStyle {
  kField,        // kv_memory: of C++, C and Python, and the default
  kCommandLine,  // --kv-memory
  kServer,       // the server's --kv-memory: for clients of a server
};

// While it lives, messages of this process name options in `style`; after that, as before. For a
// program, or a part of it, whose messages all have the same readers. Any thread may make messages;
// one thread at a time changes the style. Scopes nest.
class OptionStyleScope {
 public:
  explicit OptionStyleScope(OptionStyle style);
  ~OptionStyleScope();
  OptionStyleScope(const OptionStyleScope&) = delete;
  OptionStyleScope& operator=(const OptionStyleScope&) = delete;

 private:
  const OptionStyle before_;
};

// To be formatted: invalid_argument("{} is {}", OptionName{"kv_memory"}, n). `field` is the name of
// the library; the command line's has dashes instead of underscores.
struct OptionName {
  std::string_view field;
};

std::string shown(OptionName option);

}  // namespace pando

template <>
struct fmt::formatter<pando::OptionName> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(pando::OptionName option, Context& context) const {
    return fmt::formatter<std::string_view>::format(pando::shown(option), context);
  }
};
