// A shared library that may be installed. It is opened when it is needed.
#pragma once

#include <string>
#include <vector>

namespace pando::exec::gpu {

// Never unloaded, because drivers keep their own threads.
class Library {
 public:
  // Opens the first of these names that exists.
  explicit Library(const std::vector<const char*>& names);

  // The words of the system about what could not be opened or found; "" if all was.
  const std::string& problem() const { return problem_; }

  // Sets `function`, a pointer, to the symbol with this name, or to null.
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
