#include <sys/syscall.h>
#include <unistd.h>

#include "exec/cpu/kernel/cpu/attend_int8_tiles.h"

// What follows uses what it declares.
#include "exec/cpu/kernel/cpu/attend_int8.h"
#include "exec/cpu/kernel/cpu/linear_tiles.h"

namespace pando::kernel {

// Whether the operating system lets this process have the tile registers: it must be asked once.
bool amx_granted();
// In place of the table's for AVX-512, where `amx_takes`.
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
