#include "serve/service.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "base/errors.h"
#include "pando/values/sharing.h"
#include "serve/batch_runner.h"
#include "serve/handler.h"
#include "serve/model_names.h"

namespace pando::serve {

Service::Service(Engine& e, const ServerOptions& o, ServerKeys k, PublicPrefixes p,
                 std::shared_ptr<ResponseDatabase> r, std::unique_ptr<FileStore> f)
    : StateDoor(o, std::move(k),
                {.responses = std::move(r),
                 .files = std::move(f),
                 .nice = e.options().nice,
                 .max_batched = most_batched(e.options()),
                 .batch_model = o.model_names.front()}),
      engine(e),
      public_prefixes(std::move(p)),
      warning(sharing_info(e.options().sharing).value().warning),
      metrics(e, options.model_names.front()),
      replica(e, options, new_id()),
      admission(options.max_prompt_bytes),
      text_pool(static_cast<size_t>(options.text_threads)),
      long_text_pool(static_cast<size_t>(options.text_threads)) {}

boost::asio::awaitable<void> Service::handle(HttpRequest& request, Replier& replier) {
  return serve::handle(*this, request, replier);
}

// Whatever a thread of texts still does is done for connections that are alive, and the engine's
// thread tells them nothing once they go.
void Service::close() {
  close_state();
  text_pool.join();
  long_text_pool.join();
  shutdown_guard.close();
  drop_batches();
}

bool Service::serves(const std::string& model) const {
  return options.any_model_name || has_name(options.model_names, model);
}

std::string Service::not_served(const std::string& model) const {
  std::string names;
  for (const std::string& name : options.model_names)
    names += fmt::format("{}'{}'", names.empty() ? "" : " or ", name);
  return fmt::format("the model '{}' is not served here, expected {}", one_line(model), names);
}

size_t Service::longest() const { return engine.longest(); }

ask::Envelope Service::envelope(const std::string& id) const {
  return {.id = id,
          .created = std::time(nullptr),
          .model = options.model_names.front(),
          .warning = warning};
}

// The highest bit tells it from the keys of those who ask.
uint64_t Service::private_key() { return ++n_private_ | uint64_t{1} << 63; }

}  // namespace pando::serve
