#include <chrono>
#include <fstream>

#include "addition.h"
#include "device.h"

namespace vector_add {

Run run_on_cpu(std::span<const float> a, std::span<const float> b, const Launch &launch, std::optional<std::uint64_t> blocks) {
  Run run{unwritten_vector(a.size()), {}, blocks.value_or(divided_up(a.size(), launch.threads)), {}};
  for (std::uint64_t repeat = 0; repeat < launch.repeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t block = 0; block < run.blocks; ++block) {
      const Range part = chunk_of({0, a.size()}, block, launch.threads);
      add_share(a.data() + part.first, b.data() + part.first, run.sum.data() + part.first, part.count, 0, 1);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    run.seconds.push_back(elapsed.count());
  }
  return run;
}

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace vector_add
