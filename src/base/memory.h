// Memory that runs out, and memory that is given back.
#pragma once

#include <cstddef>

namespace pando {

// Keeps memory for the moment in which an allocation fails. A failing one gets the first part, so
// that what cannot fail, such as a destructor, goes on; the next one throws std::bad_alloc and
// leaves the second part to what is unwound. Process-wide, by std::set_new_handler; any thread.
class MemoryReserve {
 public:
  // Takes both parts, those that are not there; false: there is no memory for them.
  static bool fill();
  static constexpr size_t kPart = size_t{4} << 20;
};

// Gives freed memory back to the operating system. Takes milliseconds for each GiB that is freed.
void give_back_memory();

}  // namespace pando
