// Devices that run the addition, the CPU or CUDA devices, and the result: the sum and a time per repeat.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "data.h"

namespace vector_add {

struct Launch {
  std::uint64_t threads;  // of a block
  std::uint64_t repeats;
  std::uint64_t chunk = 0;  // elements that are on a device at a time; 0: all, or as many as its memory has room for
};

// How the vectors went to CUDA devices and back. Seconds are those of the slowest device; all of them work at the same time.
struct Passages {
  std::uint64_t chunk;   // elements of the largest
  std::uint64_t chunks;  // of all devices
  std::uint64_t slots;   // chunks of one device that are under way at a time, each in a separate stream
  bool pinned;           // whether the host's memory was page-locked, without which copies are slow and don't overlap
  std::optional<double> to_device_seconds;    // both inputs; nothing where copies overlap with kernels
  std::optional<double> from_device_seconds;  // the sum; likewise
  std::vector<double> overlapped_seconds;     // per repeat, inputs, kernels and sum; empty where everything is on the device at once
  std::uint64_t mismatches;                   // that the devices themselves counted
};

// Result of a run.
struct Run {
  HostVector sum;
  std::vector<double> seconds;       // of the kernel, per repeat
  std::uint64_t blocks = 0;          // of the largest launch
  std::optional<Passages> passages;  // nothing on the CPU
};

struct CudaDevice {
  int index;
  std::string name;
  std::uint64_t memory_bytes;
};

// The devices that can be used. `reason` says why there are fewer than requested.
struct CudaDevices {
  std::vector<CudaDevice> usable;
  std::string driver;  // the newest CUDA version that the driver supports: 12.9
  std::string reason;
};

// The device, its driver or its memory failed; `what()` names the step and the error.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// There is less memory than the vectors need; `what()` gives both figures.
struct MemoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Finds `requested` devices, or all where it is 0, in the driver's order.
CudaDevices find_cuda_devices(std::size_t requested);

// Runs on these devices, each with its share of the elements, printing the lines of its progress. Throws DeviceError and
// MemoryError.
Run run_on_cuda(const std::vector<CudaDevice> &devices, std::span<const float> a, std::span<const float> b, const Launch &launch);

// Runs on one core of the CPU, block after block; one thread takes all steps of a block, which has an element for each of its
// threads. Only tests set `blocks`.
Run run_on_cpu(std::span<const float> a, std::span<const float> b, const Launch &launch, std::optional<std::uint64_t> blocks = {});

std::string cpu_name();

}  // namespace vector_add
