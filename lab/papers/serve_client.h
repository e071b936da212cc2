// An open-loop client of the completions endpoint: it sends each request at its time, whatever has
// become of those before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pando/values/token.h"
#include "schedule/deadlines.h"

namespace pando::lab {

// Answers consist of this letter alone, so that their tokens can be counted.
constexpr char kLetter = 'a';

struct Ask {
  double at = 0;  // seconds since the client began
  std::string body;
};

// Asks for a stream of n_answer tokens; letter: the token of kLetter.
std::string completion_body(const std::vector<Token>& prompt, uint32_t n_answer,
                            const Deadlines& deadlines, Token letter);

struct Streamed {
  std::vector<double> tokens;  // when each came, seconds since the client began
  bool is_whole = false;       // the stream has ended as it should
  std::string error;           // says what was wrong; empty: nothing was
};

// Sends all of them to 127.0.0.1, each over a connection of its own, and reads until `end` at most;
// what is open then is closed. Runs on the caller's thread. [requests]
std::vector<Streamed> ask_open_loop(uint16_t port, std::span<const Ask> requests, double end);

}  // namespace pando::lab
