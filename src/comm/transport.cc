#include "comm/transport.h"

#include "base/errors.h"

namespace pando {
namespace {

OpenTransport registered = nullptr;

}  // namespace

void register_transport(OpenTransport open) { registered = open; }

Result<std::unique_ptr<Comm>> open_transport() {
  if (registered != nullptr) return registered();
  return unsupported("this program was built without MPI, and several processes need MPI");
}

}  // namespace pando
