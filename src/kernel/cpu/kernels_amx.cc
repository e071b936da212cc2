#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/cpu/linear_tiles.h"

namespace pando::kernel {

// Whether the operating system lets this process have the tile registers: it must be asked once.
bool amx_granted();
// In place of the table's for AVX-512, where `amx_takes`.
bool amx_takes(DType weights, int m);
void amx_linear_block(const LinearBlockArgs& args);
void amx_pack_row(const PackRowArgs& args);

bool amx_granted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool amx_takes(DType weights, int m) { return LinearTiles<SimdAmx>::takes(weights, m); }
void amx_linear_block(const LinearBlockArgs& args) { LinearTiles<SimdAmx>::run(args); }
void amx_pack_row(const PackRowArgs& args) { LinearTiles<SimdAmx>::pack_row(args); }

}  // namespace pando::kernel
