#include <sys/syscall.h>
#include <unistd.h>

#include "exec/cpu/kernel/cpu/attend_int8_tiles.h"

// The headers below use declarations of those above.
#include "exec/cpu/kernel/cpu/attend_int8.h"
#include "exec/cpu/kernel/cpu/linear_tiles.h"

namespace pando::kernel {

// True if the operating system grants this process the tile registers; asks for them once.
bool amx_granted();
// Replaces the AVX-512 kernel of the table if `amx_takes`.
bool amx_takes(DType weights, int m);
void amx_linear_block(const LinearBlockArgs& args);
void amx_pack_row(const PackRowArgs& args);
void amx_attend_int8(const AttendTileArgs& args);

bool amx_granted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool amx_takes(DType weights, int m) { return LinearTiles<SimdAmx>::takes(weights, m); }
void amx_linear_block(const LinearBlockArgs& args) { LinearTiles<SimdAmx>::run(args); }
void amx_pack_row(const PackRowArgs& args) { LinearTiles<SimdAmx>::pack_row(args); }
void amx_attend_int8(const AttendTileArgs& args) { AttendInt8<SimdAmx>::attend_tile(args); }

}  // namespace pando::kernel
