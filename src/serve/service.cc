#include "serve/service.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <ctime>

#include "base/check.h"
#include "base/errors.h"
#include "pando/values/sharing.h"

namespace pando::serve {

Service::Service(Engine& e, const ServerOptions& o, ApiKeys k, PublicPrefixes p,
                 std::unique_ptr<ResponseDatabase> r, std::unique_ptr<FileStore> f)
    : engine(e),
      options(o),
      keys(std::move(k)),
      public_prefixes(std::move(p)),
      responses(std::move(r)),
      files(std::move(f)),
      started(std::time(nullptr)),
      warning(sharing_info(e.options().sharing).value().warning),
      metrics(e, o.model_names.front()),
      connections(static_cast<size_t>(o.io_threads)),
      admission(o.max_prompt_bytes),
      body_memory(o.max_bodies_bytes),
      text_pool(static_cast<size_t>(o.text_threads)),
      long_text_pool(static_cast<size_t>(o.text_threads)),
      store_pool(1),
      file_pool(1),
      batch_pool(1) {}

std::string Service::new_id() {
  uint64_t bits = 0;
  PANDO_CHECK(getentropy(&bits, sizeof bits) == 0);
  return fmt::format("{:016x}", bits);
}

bool Service::serves(const std::string& model) const {
  return std::ranges::find(options.model_names, model) != options.model_names.end();
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

void Service::log(const LoggedRequest& request) const {
  const bool failed = request.status >= 400 || !request.tally.error.empty();
  const LogRequests which = options.log_requests;
  if (options.log && (which == LogRequests::kAll || (which == LogRequests::kErrors && failed)))
    options.log(log_line(request));
}

void Service::log(const std::string& line) const {
  if (options.log) options.log(log_time() + line + "\n");
}

// The highest bit tells it from the keys of those who ask.
uint64_t Service::private_key() { return ++n_private_ | uint64_t{1} << 63; }

}  // namespace pando::serve
