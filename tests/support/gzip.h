// tests/support/gzip.h
//
// Packs a text as gzip does.

#ifndef DENSENET_TESTS_SUPPORT_GZIP_H_
#define DENSENET_TESTS_SUPPORT_GZIP_H_

#include <glog/logging.h>
#include <zlib.h>

#include <string>

namespace densenet::testing {

inline std::string Gzip(const std::string& text) {
  z_stream stream{};
  CHECK_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8,
                        Z_DEFAULT_STRATEGY),
           Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // only read
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_GZIP_H_
