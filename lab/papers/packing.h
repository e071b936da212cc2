// How prompts lie in bins, for people: Prepacking, figures 5 and 9.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pando::lab {

// Lengths of prompts by bin; a bin is as long as the longest prompt.
struct Packing {
  uint32_t capacity = 0;                    // m
  std::vector<std::vector<uint32_t>> bins;  // [r][prompts of it]
};
Packing pack(std::span<const uint32_t> lengths);

// A bin in `width` characters: digits of the prompts' numbers in it, dots for pads.
std::string bin_line(std::span<const uint32_t> bin, uint32_t capacity, size_t width);
std::string to_svg(const Packing& packing, const std::string& title);

// Pearson's, of pairs; not finite where one of both does not vary.
double correlation(std::span<const std::pair<double, double>> pairs);

}  // namespace pando::lab
