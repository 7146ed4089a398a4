#include "memory.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace vector_add {
namespace {

std::optional<std::size_t> number_in(const char *path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

std::optional<std::size_t> machine_memory() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t kibibytes = 0;
    if (words >> name >> kibibytes && name == "MemAvailable:") {
      return kibibytes * 1024;
    }
  }
  return std::nullopt;
}

// Linux control groups, version 2. "max" isn't a number, so it is read as no limit.
std::optional<std::size_t> control_group_memory() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) {
    return std::nullopt;
  }
  return *limit > *used ? *limit - *used : 0;
}

}  // namespace

std::optional<std::size_t> available_host_memory() {
  const auto machine = machine_memory();
  const auto group = control_group_memory();
  if (machine && group) {
    return std::min(*machine, *group);
  }
  return machine ? machine : group;
}

std::string readable_bytes(std::size_t bytes) {
  constexpr std::array units = {"B", "kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1000 && unit + 1 < units.size()) {
    size /= 1000;
    ++unit;
  }
  std::ostringstream text;
  text.setf(std::ios::fixed);
  text.precision(unit == 0 ? 0 : 2);
  text << size << ' ' << units[unit];
  return text.str();
}

}  // namespace vector_add
