// The requests of `pando bench serve`: short chats, and among them a few prompts that are a hundred
// times longer and more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "schedule/deadlines.h"

namespace pando::lab {

// A request as a service once had it.
struct TraceLine {
  double seconds = 0;                   // when it came, since the first one
  uint32_t n_prompt = 1, n_answer = 1;  // tokens
};
// Reads a file TIMESTAMP,ContextTokens,GeneratedTokens, as of Azure's traces of 2023. Errors,
// thrown: kIo, and kBadFile with the line.
std::vector<TraceLine> read_trace(const std::filesystem::path& path);
// Stands in where there is none: a Poisson process of one request a second, with lengths spread
// evenly over those of the chats below.
std::vector<TraceLine> poisson_trace(size_t n, uint64_t seed);

// How the lines of a trace become requests, in tokens: divided, and within bounds.
struct ChatMix {
  uint32_t divisor = 32;
  uint32_t least_prompt = 4, most_prompt = 64;
  uint32_t least_answer = 2, most_answer = 24;
  double long_share = 0.05;
  uint32_t least_long = 3200, most_long = 12800;  // their prompts; answers are as of all

  ChatMix with_share(double share) const {
    ChatMix mix = *this;
    mix.long_share = share;
    return mix;
  }
};

struct ServedRequest {
  double arrival = 0;  // seconds since the window began
  uint32_t n_prompt = 1, n_answer = 1;
  bool is_long = false;
  Deadlines deadlines;
};

// rate x seconds requests, those of that many lines of the trace from somewhere on, with the times
// between them in proportion. Of their number long_share are long, one at least; which ones is
// drawn, and their lengths divide the range evenly on a scale of logarithms, so that windows of one
// size have the same work. The same arguments give the same requests. An error is thrown where the
// trace has too few lines.
std::vector<ServedRequest> draw_requests(const std::vector<TraceLine>& trace, const ChatMix& mix,
                                         double rate, double seconds, uint64_t seed);

}  // namespace pando::lab
