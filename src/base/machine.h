// Processors and memory that this process may use: of the machine or of its container.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pando {

// At least 1: the processors that the process may run on, or fewer where a control group limits
// its time. `root` is where /proc and /sys are.
int available_processors(const std::filesystem::path& root = "/");

// Counts the same, without the slow ones of a machine that has several kinds of processors, unless
// the process may use slow ones alone.
int fast_processors(const std::filesystem::path& root = "/");

// The numbers in a file of the system such as "0-7,12"; none if there is no such file.
std::vector<int> processors_in(const std::filesystem::path& path);

// Bytes that there are, used or not: the machine's memory, or if that is less the limit of a
// control group (version 2 or 1) or of the process (ulimit -v, ulimit -d). Nothing where nothing
// says.
std::optional<uint64_t> total_memory(const std::filesystem::path& root = "/");

// Bytes that could be used now: memory that the machine has free or could free, or the rest of one
// of these limits if that is less. Nothing if the system does not say.
std::optional<uint64_t> available_memory(const std::filesystem::path& root = "/");

// "1.5 GiB". The unit is the largest that gives a number of at least 1.
std::string size_text(uint64_t n_bytes);
// "1610612736 bytes (1.5 GiB)", "5 bytes"
std::string bytes_text(uint64_t n_bytes);
// Text for available_memory(): "M bytes (1.5 GiB) are available"
std::string free_text();
// "N bytes (2.5 GiB) are needed, and M bytes (1.5 GiB) are available"
std::string shortage_text(uint64_t n_needed);

// Busy seconds of all the machine's processors together since it was started, including time that
// the host of a virtual machine took from it. Counted by ticks of a hundredth. Nothing if the
// system does not say.
std::optional<double> busy_processor_seconds(const std::filesystem::path& root = "/");

// The processor as its maker calls it.
std::string processor_name();

}  // namespace pando
