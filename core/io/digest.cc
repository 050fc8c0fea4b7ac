#include "core/io/digest.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <openssl/evp.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/io/file.h"
#include "core/io/gzip_reader.h"

namespace densenet {
namespace {

constexpr int64_t kReadBytes = 1 << 18;

}  // namespace

struct Digest::State {
  EVP_MD_CTX* context = nullptr;
  ~State() { EVP_MD_CTX_free(context); }
};

Digest::Digest(std::string algorithm, std::unique_ptr<State> state)
    : algorithm_(std::move(algorithm)), state_(std::move(state)) {}

Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

StatusOr<Digest> Digest::Create(std::string_view algorithm) {
  const std::string_view name = algorithm.substr(0, algorithm.find(':'));
  const EVP_MD* method = name == "md5"    ? EVP_md5()
                         : name == "sha1" ? EVP_sha1()
                                          : nullptr;
  if (method == nullptr) {
    return InvalidArgument(
        fmt::format("unknown digest '{}': expected md5 or sha1", name));
  }
  auto state = std::make_unique<State>();
  state->context = EVP_MD_CTX_new();
  if (state->context == nullptr) {
    return ResourceExhausted("digest: OpenSSL has no memory");
  }
  if (EVP_DigestInit_ex(state->context, method, nullptr) != 1) {
    return Unavailable(
        fmt::format("digest: this system's OpenSSL refuses {}", name));
  }
  return Digest(std::string(name), std::move(state));
}

void Digest::Update(const void* data, int64_t bytes) {
  CHECK_EQ(EVP_DigestUpdate(state_->context, data, static_cast<size_t>(bytes)),
           1);
}

std::string Digest::Finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK_EQ(EVP_DigestFinal_ex(state_->context, digest, &size), 1);
  std::string text = algorithm_ + ':';
  for (unsigned int i = 0; i < size; ++i) {
    text += fmt::format("{:02x}", digest[i]);
  }
  return text;
}

StatusOr<std::string> DigestOf(std::string_view algorithm,
                               std::string_view text) {
  ASSIGN_OR_RETURN(Digest digest, Digest::Create(algorithm));
  digest.Update(text.data(), static_cast<int64_t>(text.size()));
  return digest.Finish();
}

StatusOr<std::string> DigestOfFile(std::string_view algorithm,
                                   const std::string& path) {
  ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(Digest digest, Digest::Create(algorithm));
  std::vector<char> buffer(static_cast<size_t>(kReadBytes));
  for (int64_t at = 0; at < file.size();) {
    const int64_t n = std::min(kReadBytes, file.size() - at);
    RETURN_IF_ERROR(file.ReadAt(at, buffer.data(), n));
    digest.Update(buffer.data(), n);
    at += n;
  }
  return digest.Finish();
}

StatusOr<ContentDigest> DigestOfContent(std::string_view algorithm,
                                        const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<GzipReader> reader,
                   GzipReader::Open(path));
  ASSIGN_OR_RETURN(Digest digest, Digest::Create(algorithm));
  std::vector<char> buffer(static_cast<size_t>(kReadBytes));
  for (;;) {
    ASSIGN_OR_RETURN(const int64_t n, reader->Read(buffer.data(), kReadBytes));
    if (n == 0) break;
    digest.Update(buffer.data(), n);
  }
  return ContentDigest{reader->position(), digest.Finish()};
}

}  // namespace densenet
