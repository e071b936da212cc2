#include "hub/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/errors.h"

namespace pando::hub {
namespace {

constexpr size_t kPieceOfFile = size_t{1} << 20;

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::string> digest_of_file(const std::filesystem::path& path, Digest digest,
                                   const std::atomic<bool>& stop) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  if (context == nullptr) return no_memory();
  std::error_code failure;
  const uintmax_t size = std::filesystem::file_size(path, failure);
  if (file == nullptr || failure)
    return in_file(path.string(), io_error("cannot be read: {}", std::strerror(errno)));
  EVP_DigestInit_ex(context.get(), digest == Digest::kSha256 ? EVP_sha256() : EVP_sha1(), nullptr);
  if (digest == Digest::kGitSha1) {
    const std::string head = fmt::format("blob {}", size);
    EVP_DigestUpdate(context.get(), head.c_str(), head.size() + 1);  // with the zero
  }
  std::vector<char> piece(kPieceOfFile);
  while (const size_t n = std::fread(piece.data(), 1, piece.size(), file.get())) {
    if (stop) return make_error(ErrorCode::kUnavailable, "stopped");
    EVP_DigestUpdate(context.get(), piece.data(), n);
  }
  if (std::ferror(file.get()) != 0)
    return in_file(path.string(), io_error("cannot be read: {}", std::strerror(errno)));
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), bytes, &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace pando::hub
