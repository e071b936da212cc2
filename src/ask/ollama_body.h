// Errors and times of Ollama's API.
#pragma once

#include <cstdint>
#include <string>

#include "ask/errors.h"

namespace pando::ask {

// {"error"}, in a stream as its last line.
extern const ErrorForm kOllamaErrors;

// A time as Ollama writes it, "2026-11-25T10:00:00Z"; seconds since 1970.
std::string ollama_time(int64_t seconds);

}  // namespace pando::ask
