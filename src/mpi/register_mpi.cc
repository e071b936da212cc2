#include "mpi/register_mpi.h"

#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/errors.h"
#include "comm/transport.h"
#include "mpi/mpi_comm.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

// In the build directory and the wheel, or where the program is installed.
Result<fs::path> find_module() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path places[] = {program / "pando-mpi.so", program / "../lib/pando/pando-mpi.so"};
  for (const fs::path& place : places)
    if (fs::exists(place, error)) return place;
  return unsupported("MPI is not available: found neither {} nor {}, expected a build with MPI",
                     places[0].lexically_normal().string(), places[1].lexically_normal().string());
}

Result<std::unique_ptr<Comm>> load_mpi() {
  const Result<fs::path> path = find_module();
  if (!path) return path.error();
  // Global: plug-ins of the MPI library use its names. Never closed: so do its threads.
  void* const module = dlopen(path->c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const open = module == nullptr ? nullptr : dlsym(module, kOpenMpiName);
  if (open == nullptr)
    return unsupported("MPI is not available: found '{}', expected {}", dlerror(),
                       "the MPI library of this build; libmpi.so.40 is that of Open MPI 4 and 5");
  const char* refusal = "";
  std::unique_ptr<Comm> comm(reinterpret_cast<OpenMpi*>(open)(&refusal));
  if (comm == nullptr) return unsupported("{}", refusal);
  return comm;
}

}  // namespace

void register_mpi() { register_transport(load_mpi); }

}  // namespace pando
