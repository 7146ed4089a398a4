// The command line. In: argv. Out: options, or every problem in it at once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vector_add {

enum class Device { automatic, cuda, cpu };

// The defaults are those of the run that the Azure Container Instances article shows.
struct Options {
  std::size_t elements = 50000;
  std::size_t threads = 256;
  std::size_t repeats = 10;
  Device device = Device::automatic;
  bool require_gpu = false;
  bool help = false;

  std::size_t blocks() const { return elements / threads + (elements % threads == 0 ? 0 : 1); }
};

struct Parsed {
  Options options;
  std::vector<std::string> problems;  // empty where the options may be used
};

Parsed parse_options(const std::vector<std::string_view> &arguments);

std::string help_text();

}  // namespace vector_add
