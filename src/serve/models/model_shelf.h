// The models of a server. Loads them on request and unloads others when memory is short.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ask/errors.h"
#include "serve/models/served_model.h"

namespace pando::serve {

enum class ModelState { kUnloaded, kLoading, kLoaded };
const char* model_state_name(ModelState state);

// Any thread. The shelf's own thread loads models one after another, in the order of requests. A
// model is unloaded only to make room for another one, and only when it has no open requests. The
// least recently used model goes first. New requests wait until it is loaded again.
class ModelShelf {
  struct Entry;

 public:
  // memory: bytes for weights, keys and values of all models. log: takes a line of the log.
  ModelShelf(std::vector<ModelRecipe> recipes, size_t memory, SharedParts shared,
             std::function<void(const std::string&)> log);
  ~ModelShelf();
  ModelShelf(const ModelShelf&) = delete;
  ModelShelf& operator=(const ModelShelf&) = delete;

  // An open request. It keeps its model loaded.
  class Use {
   public:
    Use(ModelShelf* shelf, Entry* entry) : shelf_(shelf), entry_(entry) {}
    Use(Use&& other) noexcept
        : shelf_(std::exchange(other.shelf_, nullptr)), entry_(other.entry_) {}
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (shelf_ != nullptr) shelf_->end(*entry_);
    }
    Service& service() const;

   private:
    ModelShelf* shelf_;
    Entry* entry_;
  };

  // A request's wish for a model. The request asks again until the wish is granted.
  struct Wish {
    size_t model = 0;  // index of its recipe
    std::optional<uint64_t> n_failures = {};
  };
  // Nothing if the model is not loaded yet. An error for the client if a load failed since the
  // first call with this wish.
  struct Granted {
    std::optional<Use> use;
    std::optional<ask::HttpError> error;
  };
  Granted ask(Wish& wish);

  std::optional<size_t> find(const std::string& name) const;
  struct Facts {
    std::string name;
    ModelState state = ModelState::kUnloaded;
    bool has_failed = false;  // its last load
    size_t n_bytes = 0;       // that it takes of the memory
    size_t n_weight_bytes = 0;  // 0: not known, as it was never asked for
    std::vector<std::string> capabilities;  // empty if it was never loaded
    uint64_t n_loads = 0, n_failures = 0, n_open = 0;
    std::shared_ptr<ServedModel> served;  // if it is loaded; keep it no longer than a moment
  };
  std::vector<Facts> facts() const;
  size_t memory() const { return memory_; }

  // Stops loading and closes loaded models. The shelf's destructor frees them, so that aborted
  // requests can end before.
  void close(bool at_once);

 private:
  struct Entry {
    ModelRecipe recipe;
    ModelState state = ModelState::kUnloaded;
    std::shared_ptr<ServedModel> served = nullptr;
    uint64_t n_open = 0, n_loads = 0, n_failures = 0;
    size_t n_weight_bytes = 0;  // about; 0: not known
    std::vector<std::string> capabilities = {};  // kept when the model is unloaded
    uint64_t used_at = 0;    // in the order of uses
    uint64_t wanted_at = 0;  // in the order of wishes; 0: nobody waits for it
    bool is_leaving = false;
    // Until a request has it, or none came: else models that are wanted at the same time could put
    // each other away forever.
    std::optional<std::chrono::steady_clock::time_point> kept_until = {};
    bool has_failed = false;
    ask::HttpError error = {};  // of the last load
  };

  void run();
  void load(Entry& entry);
  std::optional<ask::HttpError> try_load(Entry& entry);
  void know_size(Entry& entry, size_t n_bytes);
  // Waits until so many bytes are free.
  std::optional<ask::HttpError> make_room(Entry& entry, size_t n_bytes);
  // The least recently used model without open requests. If there is none, a model is to leave.
  Entry* idle_one();
  void put_away(std::unique_lock<std::mutex>& lock, Entry& entry);
  void end(Entry& entry);
  size_t n_free() const;  // with the lock

  const size_t memory_;
  const SharedParts shared_;
  const std::function<void(const std::string&)> log_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Entry>> entries_;
  uint64_t clock_ = 0;  // of uses and wishes
  bool is_closing_ = false;
  std::thread thread_;
};

}  // namespace pando::serve
