// The state of the driver for tests. One lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/driver.h"
#include "cuda/kernels.h"

namespace pando::testing::cuda {

// A call of a stream, or a node of a graph.
struct Operation {
  enum Kind { kCopyIn, kCopyOut, kFill, kLaunch } kind;
  uint64_t device = 0;  // address of a copy or fill
  const void* host = nullptr;
  size_t n = 0;
  unsigned char value = 0;
  std::vector<std::byte> copied;  // the bytes of pageable memory, at the call
  exec::gpu::Kernel kernel{};
  exec::gpu::Groups groups;
  std::vector<uint64_t> arguments;
};
using Operations = std::vector<Operation>;

struct Context {};
struct Module;
struct Function {
  Module* module = nullptr;
  exec::gpu::Kernel kernel{};
};
struct Module {
  std::string image;
  std::map<std::string, Function> functions;
};
struct Graph {
  Operations operations;
};
struct Executable {
  Operations operations;
};
struct Stream {
  Operations pending;
  std::unique_ptr<Graph> captured;
  bool is_broken = false;  // true if the capture is invalid
  std::thread::id capturing;
};

// Objects that the program has made and not destroyed.
template <class T>
class Objects {
 public:
  T* add(std::unique_ptr<T> object) {
    T* const made = object.get();
    all_[made] = std::move(object);
    return made;
  }
  bool has(const T* object) const { return all_.contains(const_cast<T*>(object)); }
  bool remove(T* object) { return all_.erase(object) > 0; }
  size_t size() const { return all_.size(); }
  void clear() { all_.clear(); }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

 private:
  std::map<T*, std::unique_ptr<T>> all_;
};

// Memory by its address.
class Memory {
 public:
  uint64_t allocate(size_t n);  // [n] of NaN
  bool free(uint64_t address) { return all_.erase(address) > 0; }
  // True if [address, address + n) is in one allocation.
  bool has(uint64_t address, size_t n) const;
  size_t size() const { return all_.size(); }
  size_t bytes() const;
  void clear() { all_.clear(); }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  struct Block {
    std::unique_ptr<void, Free> memory;
    size_t n;
  };
  std::map<uint64_t, Block> all_;
};

struct State {
  std::mutex mutex;
  bool is_initialised = false;
  int lost = 0;  // the error that each call returns since a stream met it
  size_t n_retained = 0;
  Context context;
  Memory memory, pinned;
  Objects<Stream> streams;
  Objects<Module> modules;
  Objects<Graph> graphs;
  Objects<Executable> executables;
  std::map<std::string, size_t> n_calls;
  std::map<std::string, std::pair<int, int>> failures;  // calls until it fails, code
};
State& state();

// Carries out what waits in the stream. Returns the first error.
int carry_out(Stream& stream);

// The context of this thread.
void set_current(Context* context);
// Invalidates this thread's captures. Returns false if there are none.
bool breaks_capture();

enum class Needs { kNothing, kContext, kNoCapture };
// The error that a call returns at once; 0: the call goes on.
int enter(const char* function, Needs needs);

template <class T>
int destroy(Objects<T>& objects, T* object) {
  return objects.remove(object) ? 0 : kInvalidValue;
}

}  // namespace pando::testing::cuda

#define DRIVER extern "C" PANDO_DRIVER int
#define ENTER(needs)                         \
  const std::lock_guard lock(state().mutex); \
  if (const int code = enter(__func__, needs)) return code
