// core/io/digest.h
//
// MD5 and SHA-1: what publishers of data sets state of their files. They find
// damage, they prove no origin.
//
// Numerics  a digest is written "md5:" or "sha1:" and lower-case hexadecimal
//           digits
// Errors    InvalidArgument  an unknown algorithm
//           Unavailable      the system's OpenSSL refuses it (FIPS mode)
// Threads   one at a time

#ifndef DENSENET_CORE_IO_DIGEST_H_
#define DENSENET_CORE_IO_DIGEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/status.h"

namespace densenet {

// Over bytes that come in pieces.
class Digest {
 public:
  // "md5", "sha1", or a whole digest: then its algorithm.
  static StatusOr<Digest> Create(std::string_view algorithm);
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  ~Digest();

  void Update(const void* data, int64_t bytes);
  // The digest of everything so far. Once.
  std::string Finish();

 private:
  struct State;
  Digest(std::string algorithm, std::unique_ptr<State> state);

  std::string algorithm_;
  std::unique_ptr<State> state_;
};

StatusOr<std::string> DigestOf(std::string_view algorithm,
                               std::string_view text);

// Of a file as it is.
StatusOr<std::string> DigestOfFile(std::string_view algorithm,
                                   const std::string& path);

struct ContentDigest {
  int64_t bytes = 0;
  std::string digest;
};

// Of what a file holds: unpacked where it is gzip.
// Errors  DataLoss  the gzip stream is damaged
StatusOr<ContentDigest> DigestOfContent(std::string_view algorithm,
                                        const std::string& path);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_DIGEST_H_
