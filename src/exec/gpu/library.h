// A shared library that the machine may have, opened when it is needed.
#pragma once

#include <string>
#include <vector>

namespace pando::exec::gpu {

// Never unloaded: drivers keep threads of their own.
class Library {
 public:
  // Opens the first of these names that is there.
  explicit Library(const std::vector<const char*>& names);

  // The words of the system about what could not be opened or found; "" if all was.
  const std::string& problem() const { return problem_; }

  // Sets `function`, a pointer, to the symbol of this name, or to null.
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name);

  void* handle_ = nullptr;
  std::string problem_;
};

}  // namespace pando::exec::gpu
