#include "serve/state_door.h"

#include <utility>

#include "serve/batch_runner.h"
#include "serve/file_routes.h"
#include "serve/offload.h"

namespace pando::serve {

StateDoor::StateDoor(ServerOptions o, ServerKeys k, StateParts parts)
    : Door(std::move(o), std::move(k.clients), std::move(k.routers)),
      responses(std::move(parts.responses)),
      files(std::move(parts.files)),
      nice(parts.nice),
      max_batched(parts.max_batched),
      batch_model(std::move(parts.batch_model)),
      store_pool(1),
      file_pool(1),
      batch_pool(1),
      batches_(files ? std::make_unique<BatchRunner>(*this) : nullptr) {}

StateDoor::~StateDoor() = default;

std::optional<HttpResponse> StateDoor::begin_upload(HttpRequest& request, std::string_view origin) {
  return serve::begin_upload(*this, request, origin);
}

boost::asio::awaitable<Status> StateDoor::on_disk(std::function<Status()> work) {
  return offload(file_pool, nice, std::move(work));
}

void StateDoor::drop_batches() { batches_.reset(); }

void StateDoor::close_state() {
  if (batches_) {
    batches_->stop();
    batches_->join();
  }
  for (boost::asio::thread_pool* pool : {&store_pool, &file_pool, &batch_pool}) pool->join();
}

}  // namespace pando::serve
