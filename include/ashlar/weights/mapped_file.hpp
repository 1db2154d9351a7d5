// A file as read-only memory.
#pragma once

#include <ashlar/core/error.hpp>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#if defined(_WIN32)
#  include <windows.h>
#else
#  include <fcntl.h>
#  include <sys/mman.h>
#  include <sys/stat.h>
#  include <unistd.h>
#endif

namespace ashlar::inline ASHLAR_ABI {
namespace detail {

#if defined(_WIN32)
inline std::span<const std::byte> map_file(const std::string& path) {
  const DWORD attributes = GetFileAttributesA(path.c_str());
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY))
    fail<FileError>(path, ": is a folder, expected a file");
  const HANDLE file = CreateFileA(path.c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr,
                                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE)
    fail<FileError>(path, ": cannot be opened: Windows error ", GetLastError());
  LARGE_INTEGER size{};
  const bool sized = GetFileSizeEx(file, &size) != 0;
  const HANDLE mapping = sized && size.QuadPart > 0
                             ? CreateFileMappingA(file, nullptr, PAGE_READONLY, 0, 0, nullptr)
                             : nullptr;
  const void* data = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : nullptr;
  const DWORD reason = GetLastError();
  if (mapping) CloseHandle(mapping);
  CloseHandle(file);
  if (sized && size.QuadPart == 0) fail<FileError>(path, ": is empty");
  if (!data) fail<FileError>(path, ": cannot be mapped: Windows error ", reason);
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size.QuadPart)};
}
inline void unmap_file(std::span<const std::byte> bytes) { UnmapViewOfFile(bytes.data()); }
#else
inline std::span<const std::byte> map_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail<FileError>(path, ": cannot be opened: ", std::strerror(errno));
  struct stat status = {};
  std::string problem;
  void* data = nullptr;
  if (::fstat(file, &status) != 0) {
    problem = join("cannot be examined: ", std::strerror(errno));
  } else if (S_ISDIR(status.st_mode)) {
    problem = "is a folder, expected a file";
  } else if (!S_ISREG(status.st_mode)) {
    problem = "is not a regular file";
  } else if (status.st_size == 0) {
    problem = "is empty";
  } else {
    data =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) problem = join("cannot be mapped: ", std::strerror(errno));
  }
  ::close(file);
  if (!problem.empty()) fail<FileError>(path, ": ", problem);
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(status.st_size)};
}
inline void unmap_file(std::span<const std::byte> bytes) {
  ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}
#endif

/// Whether something of this name can be opened for reading.
inline bool can_open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file) std::fclose(file);
  return file != nullptr;
}

}  // namespace detail

/// Read-only mapping of a whole file: pages are read when touched and shared between processes.
/// The file must not shrink while it is mapped. Default-constructed it holds nothing.
/// Throws FileError for a file that is missing, empty, a folder or not readable.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path) : bytes_(detail::map_file(path)) {}
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile() {
    if (!bytes_.empty()) detail::unmap_file(bytes_);
  }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace ashlar::inline ASHLAR_ABI
