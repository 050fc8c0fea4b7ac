#include "core/io/tar_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/io/file.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBufferBytes = 1 << 18;
// A pax header of a file is a few lines.
constexpr int64_t kMaxPaxBytes = 1 << 16;

// Where the fields of a header are.
constexpr size_t kNameBytes = 100;
constexpr size_t kSizeAt = 124;
constexpr size_t kSizeBytes = 12;
constexpr size_t kSumAt = 148;
constexpr size_t kSumBytes = 8;
constexpr size_t kTypeAt = 156;
constexpr size_t kMagicAt = 257;
constexpr size_t kPrefixAt = 345;
constexpr size_t kPrefixBytes = 155;

using Block = std::array<char, 512>;
constexpr int64_t kBlock = 512;

std::string_view Field(const Block& block, size_t at, size_t bytes) {
  const std::string_view field(block.data() + at, bytes);
  return field.substr(0, field.find('\0'));
}

std::string PathOf(const Block& block) {
  const std::string_view name = Field(block, 0, kNameBytes);
  // GNU's format keeps times where ustar has the prefix.
  const bool ustar = block[kMagicAt + 5] == '\0';
  const std::string_view prefix =
      ustar ? Field(block, kPrefixAt, kPrefixBytes) : "";
  return prefix.empty() ? std::string(name)
                        : fmt::format("{}/{}", prefix, name);
}

// Octal digits between spaces.
std::optional<int64_t> Octal(std::string_view field) {
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  int64_t value = 0;
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value, 8);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

bool SumAgrees(const Block& block) {
  int64_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const bool own = kSumAt <= i && i < kSumAt + kSumBytes;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return Octal(Field(block, kSumAt, kSumBytes)) == sum;
}

bool IsZero(const Block& block) {
  return std::all_of(block.begin(), block.end(),
                     [](char byte) { return byte == '\0'; });
}

// The path below the folder, or nothing when it leads elsewhere.
std::optional<std::string> SafePath(std::string_view path) {
  if (path.empty() || path.front() == '/') return std::nullopt;
  std::string safe;
  for (size_t at = 0; at <= path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::nullopt;
    for (const unsigned char letter : part) {
      if (letter < ' ' || letter == 0x7f || letter == '\\') {
        return std::nullopt;
      }
    }
    if (!safe.empty()) safe += '/';
    safe += part;
  }
  return safe;
}

}  // namespace

StatusOr<TarReader> TarReader::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<GzipReader> reader, GzipReader::Open(path));
  return TarReader(std::move(reader));
}

Status TarReader::Refuse(const std::string& what) const {
  return InvalidArgument(fmt::format("unpack {}: {}", reader_->path(), what));
}

Status TarReader::PassOver(int64_t bytes) {
  std::array<char, 4096> scratch;
  while (bytes > 0) {
    const int64_t n = std::min<int64_t>(bytes, scratch.size());
    RETURN_IF_ERROR(reader_->ReadFully(scratch.data(), n));
    bytes -= n;
  }
  return OkStatus();
}

// "27 mtime=1234567890.123456\n" and so on. What would rename or resize the
// next entry is refused; times and owners do not matter here.
Status TarReader::CheckPax(int64_t bytes) {
  if (bytes > kMaxPaxBytes) return Refuse("a pax header is too large");
  std::string text(static_cast<size_t>(bytes), '\0');
  RETURN_IF_ERROR(reader_->ReadFully(text.data(), bytes));
  RETURN_IF_ERROR(PassOver((kBlock - bytes % kBlock) % kBlock));
  for (std::string_view rest = text; !rest.empty();) {
    size_t size = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), size);
    const auto digits = static_cast<size_t>(end - rest.data());
    if (error != std::errc() || size <= digits + 1 || size > rest.size()) {
      return Refuse("a pax header is damaged");
    }
    const std::string_view line = rest.substr(digits + 1, size - digits - 1);
    for (const char* key : {"path=", "size=", "linkpath=", "GNU.sparse"}) {
      if (line.starts_with(key)) {
        return Refuse(fmt::format(
            "a pax header sets {}, which is not followed here", key));
      }
    }
    rest.remove_prefix(size);
  }
  return OkStatus();
}

// What the header says of a file or folder.
StatusOr<TarEntry> TarReader::ParseEntry(const Block& block) const {
  const std::string path = PathOf(block);
  const std::optional<int64_t> bytes = Octal(Field(block, kSizeAt, kSizeBytes));
  const char type = block[kTypeAt];
  if (type != '0' && type != '\0' && type != '5') {
    return Refuse(
        fmt::format("'{}' is a {}; only files and folders are unpacked", path,
                    type == '1' || type == '2'
                        ? "link"
                        : fmt::format("thing of type {:#04x}",
                                      static_cast<unsigned char>(type))));
  }
  std::optional<std::string> safe = SafePath(path);
  if (!safe) {
    return Refuse(
        fmt::format("'{}' leads out of the folder it unpacks to", path));
  }
  TarEntry entry;
  entry.path = *std::move(safe);
  // The format before ustar marks folders by a slash.
  entry.is_folder = type == '5' || path.ends_with('/');
  if (!bytes || (entry.is_folder && *bytes != 0)) {
    return Refuse(fmt::format("'{}' has an impossible size", path));
  }
  if (!entry.is_folder && entry.path.empty()) {
    return Refuse("a file has no name");
  }
  entry.bytes = *bytes;
  return entry;
}

StatusOr<std::optional<TarEntry>> TarReader::Next() {
  RETURN_IF_ERROR(PassOver(left_ + padding_));
  left_ = padding_ = 0;
  for (;;) {
    Block block;
    const int64_t at = reader_->position();
    RETURN_IF_ERROR(reader_->ReadFully(block.data(), kBlock));
    if (IsZero(block)) {
      // To the end, where gzip's checksum is.
      for (int64_t n = 1; n > 0;) {
        ASSIGN_OR_RETURN(n, reader_->Read(block.data(), kBlock));
      }
      return std::optional<TarEntry>();
    }
    if (Field(block, kMagicAt, 5) != "ustar" || !SumAgrees(block)) {
      if (at == 0) return Refuse("it is no tar archive");
      return DataLoss(fmt::format(
          "unpack {}: damaged at byte {} of the archive", reader_->path(), at));
    }
    if (block[kTypeAt] == 'x' || block[kTypeAt] == 'g') {
      RETURN_IF_ERROR(CheckPax(
          Octal(Field(block, kSizeAt, kSizeBytes)).value_or(kMaxPaxBytes + 1)));
      continue;
    }
    ASSIGN_OR_RETURN(TarEntry entry, ParseEntry(block));
    left_ = entry.bytes;
    padding_ = (kBlock - left_ % kBlock) % kBlock;
    return std::optional(std::move(entry));
  }
}

StatusOr<int64_t> TarReader::Read(void* out, int64_t bytes) {
  const int64_t n = std::min(bytes, left_);
  RETURN_IF_ERROR(reader_->ReadFully(out, n));
  left_ -= n;
  return n;
}

StatusOr<std::vector<std::string>> UnpackTar(const std::string& archive,
                                             const std::string& folder,
                                             int64_t max_bytes) {
  ASSIGN_OR_RETURN(TarReader reader, TarReader::Open(archive));
  std::vector<std::string> paths;
  std::vector<char> buffer(static_cast<size_t>(kBufferBytes));
  int64_t room = max_bytes;
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<TarEntry> entry, reader.Next());
    if (!entry) return paths;
    const fs::path path = fs::path(folder) / entry->path;
    std::error_code error;
    fs::create_directories(entry->is_folder ? path : path.parent_path(), error);
    if (error) return FileError("create", path.string(), error.value());
    if (entry->is_folder) continue;
    if (entry->bytes > room) {
      return InvalidArgument(
          fmt::format("unpack {}: it has more than the {} bytes expected",
                      archive, max_bytes));
    }
    room -= entry->bytes;
    ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path.string()));
    for (;;) {
      ASSIGN_OR_RETURN(const int64_t n,
                       reader.Read(buffer.data(), kBufferBytes));
      if (n == 0) break;
      RETURN_IF_ERROR(file.Append(buffer.data(), n));
    }
    RETURN_IF_ERROR(file.Commit());
    paths.push_back(entry->path);
  }
}

}  // namespace densenet
