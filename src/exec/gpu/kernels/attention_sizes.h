// Sizes that hosts and kernels of attention share.
#pragma once

#define ATTEND_TILE 64        // positions of a tile, at most
#define ATTEND_WIDE 16        // queries of a block
#define ATTEND_WIDE_HEAD 256  // channels of a head, at most, in blocks of that many
#define ATTEND_NARROW 4       // queries of a small block
#define ATTEND_NARROW_HEAD 512
#define ATTEND_LEVELS 24  // of merged spans: fewer spans than 2^24
