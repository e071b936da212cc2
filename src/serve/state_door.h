// A door with what its server keeps: stored responses, files and batches.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serve/door.h"
#include "serve/file_store.h"
#include "serve/response_database.h"

namespace pando::serve {

struct StateParts {
  std::shared_ptr<ResponseDatabase> responses;
  std::unique_ptr<FileStore> files;  // null: the server keeps none
  int nice = 0;                      // of the threads for texts and batches
  int max_batched = 1;               // lines of batches that are asked at a time
  std::string batch_model;           // of batches; empty: their lines name several
};

// Any thread may use it.
struct StateDoor : Door {
  StateDoor(ServerOptions options, ServerKeys keys, StateParts parts);
  ~StateDoor() override;

  const std::shared_ptr<ResponseDatabase> responses;
  const std::unique_ptr<FileStore> files;
  const int nice, max_batched;
  const std::string batch_model;
  boost::asio::thread_pool store_pool;  // one thread; it waits for the disk of the state
  boost::asio::thread_pool file_pool;   // the same for contents of files
  boost::asio::thread_pool batch_pool;  // one thread, for texts of batches

  virtual bool serves(const std::string& model) const = 0;  // under this name
  // The message of a request for a model that is not here.
  virtual std::string not_served(const std::string& model) const = 0;
  std::optional<HttpResponse> begin_upload(HttpRequest& request, std::string_view origin) override;
  boost::asio::awaitable<Status> on_disk(std::function<Status()> work) override;
  BatchRunner* batches() override { return batches_.get(); }

 protected:
  // Ends batches and waits for what the threads still do.
  void close_state();
  // Lets lines of batches go that did not end, once nothing tells them anything.
  void drop_batches();

 private:
  std::unique_ptr<BatchRunner> batches_;  // null without files
};

}  // namespace pando::serve
