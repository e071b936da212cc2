#include "serve/service.h"

#include <fmt/format.h>

#include <ctime>
#include <random>

#include "base/mix.h"

namespace pando::serve {
namespace {

uint64_t random_bits() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

Service::Service(Engine& e, const ServerOptions& o, ApiKeys k, PublicPrefixes p)
    : engine(e),
      options(o),
      keys(std::move(k)),
      public_prefixes(std::move(p)),
      started(std::time(nullptr)),
      metrics(e),
      admission(o.max_prompt_bytes),
      text_pool(static_cast<size_t>(o.text_threads)),
      secret_(random_bits()) {}

openai::Envelope Service::envelope() {
  return {.id = fmt::format("{:016x}", mix64(secret_ + ++n_ids_)),
          .created = std::time(nullptr),
          .model = options.model_name};
}

// The highest bit tells it from the keys of those who ask.
uint64_t Service::private_key() { return ++n_ids_ | uint64_t{1} << 63; }

}  // namespace pando::serve
