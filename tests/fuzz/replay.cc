// A fuzz target without libFuzzer: over the files of a folder, each whole and cut short.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/fuzz.h"

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  pando::fuzz::demand(argc == 2, "usage: replay FOLDER");
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(argv[1]))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  pando::fuzz::demand(!files.empty(), "there is no input to replay");
  for (const fs::path& path : files) {
    std::printf("%s\n", path.filename().c_str());
    std::ifstream file(path, std::ios::binary);
    const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
    const size_t step = bytes.size() / 32 + 1;
    // Each a block of its own, so that AddressSanitizer sees a byte too far.
    for (size_t size = 0; size < bytes.size(); size += step)
      LLVMFuzzerTestOneInput(std::vector<uint8_t>(bytes.begin(), bytes.begin() + size).data(),
                             size);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu inputs, none fails\n", files.size());
}
