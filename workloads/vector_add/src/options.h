// The command line: its options, or every problem in it at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vector_add {

enum class Device { automatic, cuda, cpu };

// The defaults are those of the run that the Azure Container Instances article shows.
struct Options {
  std::uint64_t elements = 50000;
  std::uint64_t threads = 256;
  std::uint64_t repeats = 10;
  std::uint64_t chunk = 0;  // elements that are on a device at a time; 0: as many as its memory has room for
  std::uint64_t gpus = 1;   // 0: all
  Device device = Device::automatic;
  bool require_gpu = false;
  bool help = false;
};

struct Parsed {
  Options options;
  std::vector<std::string> problems;  // empty where the options may be used
};

Parsed parse_options(const std::vector<std::string_view> &arguments);

std::string help_text();

}  // namespace vector_add
