// Shared by both CUDA programs: the kernels, and owners of the runtime's resources. Every failure is thrown as a DeviceError or
// a MemoryError that names the step.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "addition.h"
#include "device.h"
#include "memory.h"

namespace vector_add {

static __global__ void add_all(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ sum,
                               std::uint64_t elements) {
  add_share(a, b, sum, elements, std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, std::uint64_t{gridDim.x} * blockDim.x);
}

// Adds the number of wrong elements to `wrong`.
static __global__ void count_wrong(const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ sum,
                                   std::uint64_t elements, unsigned long long *wrong) {
  unsigned long long found = 0;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += threads) {
    found += is_right(a[i], b[i], sum[i]) ? 0 : 1;
  }
  if (found != 0) {
    atomicAdd(wrong, found);
  }
}

// The runtime's message, and for some errors what a user can do. Texts and causes: CUDA Runtime API, "Data types used by CUDA
// Runtime", enum cudaError. That a GPU which left the bus shows as cudaErrorUnknown or cudaErrorNoDevice is assumed.
inline std::string described(cudaError_t error) {
  const std::string said = std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
  switch (error) {
    case cudaErrorDevicesUnavailable:
      return said + ": the GPU is prohibited, or in exclusive mode and held by another process; `nvidia-smi -q -d COMPUTE` tells";
    case cudaErrorECCUncorrectable:
    case cudaErrorLaunchFailure:
    case cudaErrorNoDevice:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorUnknown:
      return said + ": the device is lost to this process; the kernel's log names the cause in a line `NVRM: Xid`";
    default:
      return said;
  }
}

inline void check(cudaError_t error, const std::string &step) {
  if (error == cudaErrorMemoryAllocation) {
    throw MemoryError("not enough device memory: " + step + ": " + described(error));
  }
  if (error != cudaSuccess) {
    throw DeviceError(step + ": " + described(error));
  }
}

inline void select(const CudaDevice &device) {
  check(cudaSetDevice(device.index), "selecting CUDA device " + std::to_string(device.index));
}

// Destructors ignore failures; the driver frees everything when the process ends.
template <class T>
class DeviceMemory {
 public:
  explicit DeviceMemory(std::uint64_t count) {
    void *pointer = nullptr;
    check(cudaMalloc(&pointer, count * sizeof(T)), "allocating " + readable_bytes(count * sizeof(T)));
    pointer_.reset(static_cast<T *>(pointer));
  }
  T *get() const { return pointer_.get(); }

 private:
  struct Free {
    void operator()(T *pointer) const noexcept { cudaFree(pointer); }
  };
  std::unique_ptr<T, Free> pointer_;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating a timing event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  void record(const Stream &stream) { check(cudaEventRecord(event_, stream.get()), "recording a timing event"); }
  void wait(const std::string &step) { check(cudaEventSynchronize(event_), step); }
  double seconds_since(const Event &start) const {
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading a timing event");
    return static_cast<double>(milliseconds) / 1000.0;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Locks the pages of a vector for every device as long as it lives. Where the system doesn't allow that, copies still work.
class Pinned {
 public:
  explicit Pinned(std::span<const float> vector)
      : pointer_(const_cast<float *>(vector.data())),
        locked_(cudaHostRegister(pointer_, vector.size_bytes(), cudaHostRegisterPortable) == cudaSuccess) {
    if (!locked_) {
      cudaGetLastError();  // reported by `locked`, so the next check must not find it
    }
  }
  ~Pinned() {
    if (locked_) {
      cudaHostUnregister(pointer_);
    }
  }
  Pinned(const Pinned &) = delete;
  Pinned &operator=(const Pinned &) = delete;
  bool locked() const { return locked_; }

 private:
  float *pointer_;
  bool locked_;
};

// The most blocks of `threads` threads on the selected device.
inline std::uint64_t most_blocks(const CudaDevice &device, std::uint64_t threads) {
  int multiprocessors = 0;
  int on_each = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.index), "asking for the multiprocessors");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, add_all, static_cast<int>(threads), 0),
        "asking how many blocks fit on a multiprocessor");
  return most_blocks_on(static_cast<std::uint64_t>(multiprocessors) * static_cast<std::uint64_t>(on_each));
}

}  // namespace vector_add
