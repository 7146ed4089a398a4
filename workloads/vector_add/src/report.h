// The JSON line that ends every run. In: what was asked for and what came out. Out: one line of text.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace vector_add {

struct Result {
  std::string device;       // "cuda" or "cpu"
  std::string device_name;  // as the driver or the operating system says it
  std::size_t device_memory_bytes;  // 0 for the CPU
  std::string cuda_driver;          // empty for the CPU
  std::vector<double> seconds;
  std::size_t mismatches;
};

// A run that reached the verification. `bandwidth_gb_per_s` counts two vectors read and one written, over the median time.
std::string report_line(const Options &options, const Result &result);

// A run that ended before the verification.
std::string failure_line(int exit_code, const std::vector<std::string> &problems);

}  // namespace vector_add
