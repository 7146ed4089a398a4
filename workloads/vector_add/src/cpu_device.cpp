#include <chrono>
#include <fstream>
#include <limits>

#include "device.h"
#include "kernel.h"

namespace vector_add {

Run run_on_cpu(const std::vector<float> &a, const std::vector<float> &b, const Launch &launch) {
  // Not-a-number until written, so that an element which the kernel misses can't pass the verification.
  Run run{std::vector<float>(a.size(), std::numeric_limits<float>::quiet_NaN()), {}};
  for (std::size_t repeat = 0; repeat < launch.repeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t block = 0; block < launch.blocks; ++block) {
      for (std::size_t thread = 0; thread < launch.threads; ++thread) {
        add_one(a.data(), b.data(), run.sum.data(), a.size(), block, launch.threads, thread);
      }
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
