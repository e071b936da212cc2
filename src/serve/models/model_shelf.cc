#include "serve/models/model_shelf.h"

#include <fmt/format.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "api/model_access.h"
#include "base/errors.h"
#include "base/machine.h"
#include "serve/door_info.h"
#include "serve/model_names.h"

namespace pando::serve {
namespace {

constexpr std::chrono::seconds kKept{1};  // for the request that a model was loaded for

constexpr const char* kServerError = "server_error";

// The log has the whole message. Clients are not told paths of the server.
ask::HttpError failed_to_load(const std::string& name, Error error) {
  error.place.file = std::filesystem::path(error.place.file).filename().string();
  const std::string why =
      error.code == ErrorCode::kNotFound ? "its files were not found" : error.message();
  const int status = error.code == ErrorCode::kUnavailable ? 503 : 500;
  return {status, kServerError, "model_not_loaded",
          fmt::format("the model '{}' cannot be loaded: {}", name, why)};
}

ask::HttpError does_not_fit(const std::string& name, size_t n_needed, size_t n_all) {
  return {507, kServerError, "insufficient_memory",
          fmt::format("the model '{}' needs {} for weights, keys and values, expected at most the "
                      "{} of --memory",
                      name, size_text(n_needed), size_text(n_all))};
}

}  // namespace

const char* model_state_name(ModelState state) {
  constexpr const char* kNames[] = {"unloaded", "loading", "loaded"};
  return kNames[static_cast<int>(state)];
}

Service& ModelShelf::Use::service() const { return *entry_->served->service; }

ModelShelf::ModelShelf(std::vector<ModelRecipe> recipes, size_t memory, SharedParts shared,
                       std::function<void(const std::string&)> log)
    : memory_(memory), shared_(std::move(shared)), log_(std::move(log)) {
  for (ModelRecipe& recipe : recipes) {
    entries_.push_back(std::make_unique<Entry>());
    entries_.back()->recipe = std::move(recipe);
  }
  thread_ = std::thread([this] { run(); });
}

ModelShelf::~ModelShelf() { close(/*at_once=*/true); }

void ModelShelf::close(bool at_once) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_closing_, true)) return;
  }
  changed_.notify_all();
  thread_.join();
  for (const auto& entry : entries_) {
    if (!entry->served) continue;
    entry->served->service->is_cutting = at_once;
    entry->served->service->close();
  }
}

std::optional<size_t> ModelShelf::find(const std::string& name) const {
  for (size_t i = 0; i < entries_.size(); ++i)
    if (has_name({&entries_[i]->recipe.name, 1}, name)) return i;
  return std::nullopt;
}

ModelShelf::Granted ModelShelf::ask(Wish& wish) {
  const std::lock_guard lock(mutex_);
  Entry& entry = *entries_[wish.model];
  if (!wish.n_failures) wish.n_failures = entry.n_failures;
  if (entry.n_failures > *wish.n_failures) return {.use = {}, .error = entry.error};
  if (entry.state == ModelState::kLoaded && !entry.is_leaving) {
    ++entry.n_open;
    entry.used_at = ++clock_;
    entry.kept_until.reset();
    return {.use = Use(this, &entry), .error = {}};
  }
  if (entry.wanted_at == 0) {
    entry.wanted_at = ++clock_;
    changed_.notify_all();
  }
  return {};
}

void ModelShelf::end(Entry& entry) {
  const std::lock_guard lock(mutex_);
  --entry.n_open;
  entry.used_at = ++clock_;
  if (entry.n_open == 0) changed_.notify_all();
}

std::vector<ModelShelf::Facts> ModelShelf::facts() const {
  std::vector<Facts> facts;
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    Facts one{.name = entry->recipe.name,
              .state = entry->state,
              .has_failed = entry->has_failed,
              .n_weight_bytes = entry->n_weight_bytes,
              .capabilities = entry->capabilities,
              .n_loads = entry->n_loads,
              .n_failures = entry->n_failures,
              .n_open = entry->n_open,
              .served = entry->served};
    if (entry->served) one.n_bytes = entry->served->n_bytes;
    facts.push_back(std::move(one));
  }
  return facts;
}

void ModelShelf::run() {
  std::unique_lock lock(mutex_);
  while (!is_closing_) {
    Entry* first = nullptr;
    for (const auto& entry : entries_)
      if (entry->state == ModelState::kUnloaded && entry->wanted_at > 0 &&
          (first == nullptr || entry->wanted_at < first->wanted_at))
        first = entry.get();
    if (first == nullptr) {
      changed_.wait(lock);
      continue;
    }
    first->state = ModelState::kLoading;
    lock.unlock();
    load(*first);
    lock.lock();
  }
}

void ModelShelf::load(Entry& entry) {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<ask::HttpError> error;
  try {
    error = try_load(entry);
  } catch (const std::bad_alloc&) {
    error = failed_to_load(entry.recipe.name, no_memory());
  } catch (const std::exception& failure) {
    error = failed_to_load(entry.recipe.name, make_error(ErrorCode::kInternal, "{}", failure.what()));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::string line;
  {
    const std::lock_guard lock(mutex_);
    entry.wanted_at = 0;
    entry.has_failed = error.has_value();
    if (error) {
      ++entry.n_failures;
      entry.state = ModelState::kUnloaded;
      line = error->message;
      entry.error = std::move(*error);
    } else {
      ++entry.n_loads;
      entry.state = ModelState::kLoaded;
      entry.kept_until = std::chrono::steady_clock::now() + kKept;
      entry.used_at = ++clock_;
      line = fmt::format("the model '{}' is loaded: {} in {:.1f} s, {} of {} are free",
                         entry.recipe.name, size_text(entry.served->n_bytes), seconds.count(),
                         size_text(n_free()), size_text(memory_));
    }
  }
  log_(line);
}

std::optional<ask::HttpError> ModelShelf::try_load(Entry& entry) {
  const ModelRecipe& recipe = entry.recipe;
  const auto failed = [&](const Error& error) {
    log_(fmt::format("the model '{}': {}", recipe.name, error.message()));
    return failed_to_load(recipe.name, error);
  };
  const Result<size_t> size = recipe.size();
  if (!size) return failed(size.error());
  know_size(entry, *size);
  if (auto error = make_room(entry, *size + recipe.kv_memory)) return error;
  Result<LoadedModel> loaded = recipe.load();
  if (!loaded) return failed(loaded.error());
  const Result<size_t> least = least_room(recipe, *loaded);
  if (!least) return failed(least.error());
  const size_t n_weights = loaded->model->info().weight_bytes;
  know_size(entry, n_weights);
  if (auto error = make_room(entry, n_weights + *least)) return error;
  size_t n_left = 0;
  {
    const std::lock_guard lock(mutex_);
    n_left = n_free() - n_weights;
  }
  constexpr size_t kWholeTexts = 4;  // texts at a time; the cache keeps none
  size_t useful = loaded->model->info().gives_logits ? n_left : kWholeTexts * *least;
  if (const size_t most = largest_buffer_bytes(*loaded->model); most > 0)
    useful = std::min(useful, most);
  const size_t room =
      recipe.kv_memory > 0 ? recipe.kv_memory : std::max(*least, std::min(n_left / 2, useful));
  Result<std::shared_ptr<ServedModel>> served =
      open_served(recipe, std::move(*loaded), room, shared_);
  if (!served) return failed(served.error());
  std::vector<std::string> capabilities = model_capabilities((*served)->engine->model());
  const std::lock_guard lock(mutex_);
  entry.served = std::move(*served);
  entry.capabilities = std::move(capabilities);
  return std::nullopt;
}

void ModelShelf::know_size(Entry& entry, size_t n_bytes) {
  const std::lock_guard lock(mutex_);
  entry.n_weight_bytes = n_bytes;
}

size_t ModelShelf::n_free() const {
  size_t n_used = 0;
  for (const auto& entry : entries_)
    if (entry->served) n_used += entry->served->n_bytes;
  return memory_ - std::min(memory_, n_used);
}

ModelShelf::Entry* ModelShelf::idle_one() {
  Entry *idle = nullptr, *busy = nullptr;
  bool is_leaving = false;
  const auto now = std::chrono::steady_clock::now();
  for (const auto& entry : entries_) {
    if (entry->state != ModelState::kLoaded || entry->kept_until > now) continue;
    is_leaving |= entry->is_leaving;
    Entry*& oldest = entry->n_open == 0 ? idle : busy;
    if (oldest == nullptr || entry->used_at < oldest->used_at) oldest = entry.get();
  }
  if (idle == nullptr && busy != nullptr && !is_leaving) busy->is_leaving = true;
  return idle;
}

std::optional<ask::HttpError> ModelShelf::make_room(Entry& entry, size_t n_bytes) {
  if (n_bytes > memory_) return does_not_fit(entry.recipe.name, n_bytes, memory_);
  std::unique_lock lock(mutex_);
  while (n_free() < n_bytes) {
    if (is_closing_)
      return ask::HttpError{503, kServerError, "shutting_down", "the server is shutting down"};
    if (Entry* idle = idle_one())
      put_away(lock, *idle);
    else
      changed_.wait_for(lock, kKept);
  }
  for (const auto& other : entries_) other->is_leaving = false;
  return std::nullopt;
}

// Others may look at it for a moment yet.
void ModelShelf::put_away(std::unique_lock<std::mutex>& lock, Entry& entry) {
  entry.state = ModelState::kUnloaded;
  entry.is_leaving = false;
  std::shared_ptr<ServedModel> served = std::move(entry.served);
  entry.served = nullptr;
  lock.unlock();
  served->service->close();
  while (served.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  served.reset();
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  log_(fmt::format("the model '{}' is put away", entry.recipe.name));
  lock.lock();
}

}  // namespace pando::serve
