// Sizes of attention that hosts and kernels share.
#pragma once

#define ATTEND_TILE 64        // positions of a tile, at most
#define ATTEND_WIDE 16        // queries of a block
#define ATTEND_WIDE_HEAD 256  // channels of a head, at most, in blocks of ATTEND_WIDE
#define ATTEND_NARROW 4       // queries of a small block
#define ATTEND_NARROW_HEAD 512
#define ATTEND_LEVELS 24  // levels of merged spans: fewer than 2^24 spans
