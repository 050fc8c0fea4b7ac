// tests/support/tar_files.h
//
// Tar archives of every kind, honest or not.

#ifndef DENSENET_TESTS_SUPPORT_TAR_FILES_H_
#define DENSENET_TESTS_SUPPORT_TAR_FILES_H_

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace densenet::testing {

struct TarMember {
  std::string name = "";
  std::string bytes = "";
  char type = '0';
  std::string magic = std::string(
      "ustar\0"
      "00",
      8);  // or "ustar  \0"
  std::string prefix = "";
  std::string link = "";
};

// One header with its bytes, padded.
inline std::string TarEntryBytes(const TarMember& member) {
  std::string head(512, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    std::copy(text.begin(), text.end(), head.begin() + at);
  };
  put(0, member.name);
  put(100, "0000644");
  put(108, "0001000");
  put(116, "0001000");
  put(124, fmt::format("{:011o} ", member.bytes.size()));
  put(136, "11234567012 ");
  put(148, "        ");
  head[156] = member.type;
  put(157, member.link);
  put(257, member.magic);
  put(345, member.prefix);
  int sum = 0;
  for (unsigned char byte : head) sum += byte;
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  std::string padded = member.bytes;
  padded.resize((padded.size() + 511) / 512 * 512, '\0');
  return head + padded;
}

inline std::string Tar(const std::vector<TarMember>& members) {
  std::string text;
  for (const TarMember& member : members) text += TarEntryBytes(member);
  text.append(1024, '\0');
  text.resize((text.size() + 10239) / 10240 * 10240, '\0');
  return text;
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_TAR_FILES_H_
