// Names of options in messages. The library calls an option kv_memory, the command line
// --kv-memory. A message holds an OptionName, which takes the form that the readers of this
// process's messages know.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace pando {

// Style in which messages write the option kv_memory.
enum class OptionStyle {
  kField,        // kv_memory: of C++, C and Python, and the default
  kCommandLine,  // --kv-memory
  kServer,       // the server's --kv-memory: for clients of a server
};

// While it lives, the messages of this process name options in `style`: for a program, or a part of
// it, whose messages all have the same readers. Of several live scopes, kServer precedes
// kCommandLine, which precedes kField. Any thread may begin and end scopes and make messages.
class OptionStyleScope {
 public:
  explicit OptionStyleScope(OptionStyle style);
  ~OptionStyleScope();
  OptionStyleScope(const OptionStyleScope&) = delete;
  OptionStyleScope& operator=(const OptionStyleScope&) = delete;

 private:
  const OptionStyle style_;
};

// An argument of a message: invalid_argument("{} is {}", OptionName{"kv_memory"}, n). `field` is
// the library's name for the option. The command line's name has dashes instead of underscores.
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
