// Where the kernel runs: the CPU or a CUDA device. In: vectors and launch shape. Out: the sum and a time per repeat.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace vector_add {

// How the kernel is launched. `blocks * threads` covers every element.
struct Launch {
  std::size_t blocks;
  std::size_t threads;
  std::size_t repeats;
};

// What a run gave back. `sum` is empty until the kernel has written it; `seconds` has one entry per repeat.
struct Run {
  std::vector<float> sum;
  std::vector<double> seconds;
};

// Whether CUDA can be used here. `name`, `memory_bytes` and `driver` are the device's when it can, `reason` says why when it can't.
struct CudaDevice {
  bool usable;
  std::string name;
  std::string reason;
  std::size_t memory_bytes = 0;
  std::string driver = "";  // the newest CUDA version that the driver supports: 12.9
};

// The device, its driver or its memory refused; `what()` names the step and the error.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// There is less memory than the vectors need; `what()` gives both figures.
struct MemoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

CudaDevice find_cuda_device();

// Runs on CUDA device 0, printing the three lines of its progress. Throws DeviceError and MemoryError.
Run run_on_cuda(const std::vector<float> &a, const std::vector<float> &b, const Launch &launch);

// Runs on one core of the CPU, block after block.
Run run_on_cpu(const std::vector<float> &a, const std::vector<float> &b, const Launch &launch);

std::string cpu_name();

}  // namespace vector_add
