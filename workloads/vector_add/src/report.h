// The JSON line that ends every run.
#pragma once

#include <string>
#include <vector>

#include "device.h"
#include "options.h"

namespace vector_add {

// A run that reached the verification. `devices` is empty for the CPU. Bandwidths are in 10^9 bytes a second and count each vector
// once, as BabelStream does: two read and one written.
std::string report_line(const Options &options, const CudaDevices &devices, const Run &run, std::uint64_t mismatches);

// A run that ended before the verification.
std::string failure_line(int exit_code, const std::vector<std::string> &problems);

}  // namespace vector_add
