// Stands in for NVIDIA's runtime library where there is a CUDA compiler and no GPU: "device memory" is the host's, and a launch
// runs the kernel's body on the CPU. It shows that the program calls the runtime rightly and believes what it answers; it shows
// nothing about a real GPU.
//
// It is as late as a device may be: work in a stream waits until someone waits for it, and so whoever reads too early reads what was
// there before. It refuses what a device would refuse or what would ruin its memory: addresses that aren't the device's or reach
// past their memory, launches and events in the stream of another device.
//
// CUDA_STAND_IN names what goes wrong: no-device, small-memory, little-memory, no-allocation, no-image, fault, lost, exclusive,
// prohibited, wrong-element, wrong-copy, no-pinning. CUDA_STAND_IN_DEVICES is the number of devices, 1 unless it is set.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "addition.h"

struct CUstream_st {
  int device;
  std::deque<std::function<void()>> work;

  void run() {
    while (!work.empty()) {
      const auto next = std::move(work.front());
      work.pop_front();
      next();
    }
  }
};

struct CUevent_st {
  int device;
  cudaStream_t stream = nullptr;
  int recorded = 0;  // how often; the latest counts
  int reached = 0;

  bool is_reached() const { return reached == recorded; }
};

namespace {

bool goes_wrong(const char *what) {
  const char *asked = std::getenv("CUDA_STAND_IN");
  return asked != nullptr && std::strcmp(asked, what) == 0;
}

int devices() {
  const char *asked = std::getenv("CUDA_STAND_IN_DEVICES");
  return goes_wrong("no-device") ? 0 : asked == nullptr ? 1 : std::atoi(asked);
}

struct Memory {
  std::size_t bytes;
  int device;
};

int current = 0;
dim3 pushed_grid;
dim3 pushed_block;
cudaStream_t pushed_stream;
cudaError_t launch_error = cudaSuccess;
std::map<const char *, Memory> allocations;
std::map<const char *, std::size_t> pinned;

// Names of the kernels; the programs register them before this file's own variables are made.
std::map<const void *, std::string> &kernels() {
  static std::map<const void *, std::string> names;
  return names;
}

// Whether the bytes from `address` on are `device`'s.
bool on_device(const void *address, std::size_t bytes, int device) {
  const auto after = allocations.upper_bound(static_cast<const char *>(address));
  if (after == allocations.begin()) {
    return false;
  }
  const auto &[begin, memory] = *std::prev(after);
  return memory.device == device && static_cast<const char *>(address) + bytes <= begin + memory.bytes;
}

cudaError_t in_stream(cudaStream_t stream, std::function<void()> work) {
  if (stream == nullptr) {
    work();  // the default stream of this program never has work when one that isn't asynchronous is called
  } else {
    stream->work.push_back(std::move(work));
  }
  return cudaSuccess;
}

void wrong_launch(cudaError_t error, const char *why) {
  std::fprintf(stderr, "stand-in: a launch is wrong: %s\n", why);
  launch_error = error;
}

cudaError_t launch(const void *kernel, dim3 grid, dim3 block, void **arguments, cudaStream_t stream) {
  if (goes_wrong("no-image")) {
    return launch_error = cudaErrorNoKernelImageForDevice;
  }
  if (stream != nullptr && stream->device != current) {
    wrong_launch(cudaErrorInvalidResourceHandle, "the stream is another device's");
    return launch_error;
  }
  const std::string &name = kernels()[kernel];
  if (name.find("nothing") != name.npos) {
    return cudaSuccess;
  }
  const auto a = *static_cast<const float **>(arguments[0]);
  const auto b = *static_cast<const float **>(arguments[1]);
  const auto sum = *static_cast<float **>(arguments[2]);
  const auto elements = *static_cast<std::uint64_t *>(arguments[3]);
  for (const void *vector : {static_cast<const void *>(a), static_cast<const void *>(b), static_cast<const void *>(sum)}) {
    if (!on_device(vector, elements * sizeof(float), current)) {
      wrong_launch(cudaErrorIllegalAddress, "a vector isn't in the device's memory");
      return launch_error;
    }
  }
  const std::uint64_t threads = std::uint64_t{grid.x} * block.x;
  if (name.find("count_wrong") != name.npos) {
    const auto wrong = *static_cast<unsigned long long **>(arguments[4]);
    if (!on_device(wrong, sizeof *wrong, current)) {
      wrong_launch(cudaErrorIllegalAddress, "the count isn't in the device's memory");
      return launch_error;
    }
    return in_stream(stream, [=] {
      for (std::uint64_t i = 0; i < elements; ++i) {
        *wrong += vector_add::is_right(a[i], b[i], sum[i]) ? 0 : 1;
      }
    });
  }
  return in_stream(stream, [=] {
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
      vector_add::add_share(a, b, sum, elements, thread, threads);
    }
    if (goes_wrong("wrong-element")) {
      sum[elements - 1] = std::numeric_limits<float>::quiet_NaN();
    }
  });
}

}  // namespace

// What the compiler's own code calls, with the names and types of CUDA 12 and 13.
extern "C" {
void **__cudaRegisterFatBinary(void *) {
  static void *handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterFunction(void **, const char *function, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
  kernels()[function] = name;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t, cudaStream_t stream) {
  pushed_grid = grid;
  pushed_block = block;
  pushed_stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  *grid = pushed_grid;
  *block = pushed_block;
  *shared = 0;
  *static_cast<cudaStream_t *>(stream) = pushed_stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(void **kernel, const void *function) {
  *kernel = const_cast<void *>(function);
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, stream);
}
}

// What the program calls.
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, stream);
}
cudaError_t cudaGetDeviceCount(int *count) {
  *count = devices();
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  std::strcpy(properties->name, "Stand-in for a GPU");
  properties->totalGlobalMem = std::size_t{16} << 30;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? 4
           : goes_wrong("exclusive")                   ? cudaComputeModeExclusiveProcess
           : goes_wrong("prohibited")                  ? cudaComputeModeProhibited
                                                       : cudaComputeModeDefault;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int threads, size_t, unsigned) {
  *blocks = std::max(1, 2048 / threads);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  *version = 12090;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = 13050;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current = device;
  return device >= 0 && device < devices() ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  *total = std::size_t{16} << 30;
  *available = goes_wrong("small-memory") ? 1000 : goes_wrong("little-memory") ? 3000000 : *total;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  if (goes_wrong("no-allocation")) {
    return cudaErrorMemoryAllocation;
  }
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  allocations[static_cast<char *>(*pointer)] = {bytes, current};
  return cudaSuccess;
}
cudaError_t cudaFree(void *pointer) {
  if (pointer == nullptr) {
    return goes_wrong("exclusive") ? cudaErrorDevicesUnavailable : cudaSuccess;
  }
  allocations.erase(static_cast<char *>(pointer));
  std::free(pointer);
  if (allocations.empty()) {
    std::fprintf(stderr, "stand-in: all device memory was freed\n");
  }
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags) {
  if (goes_wrong("no-pinning")) {
    return launch_error = cudaErrorMemoryAllocation;
  }
  pinned[static_cast<char *>(pointer)] = bytes;
  return flags == cudaHostRegisterPortable ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaHostUnregister(void *pointer) {
  return pinned.erase(static_cast<char *>(pointer)) == 1 ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const bool to_device = kind != cudaMemcpyDeviceToHost;
  const bool from_device = kind != cudaMemcpyHostToDevice;
  if ((to_device && !on_device(to, bytes, current)) || (from_device && !on_device(from, bytes, current))) {
    std::fprintf(stderr, "stand-in: a copy is wrong: an address isn't in the device's memory\n");
    return cudaErrorInvalidValue;
  }
  return in_stream(stream, [=] {
    std::memcpy(to, from, bytes);
    if (goes_wrong("wrong-copy") && !to_device && bytes > sizeof(unsigned long long)) {
      static_cast<char *>(to)[0] ^= 1;
    }
  });
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  if (!on_device(to, bytes, current)) {
    std::fprintf(stderr, "stand-in: a clearing is wrong: the address isn't in the device's memory\n");
    return cudaErrorInvalidValue;
  }
  return in_stream(stream, [=] { std::memset(to, value, bytes); });
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }
cudaError_t cudaGetLastError() { return std::exchange(launch_error, cudaSuccess); }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = new CUstream_st{current, {}};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream->run();
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
  *event = new CUevent_st{current};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event->device != stream->device) {
    return cudaErrorInvalidResourceHandle;
  }
  event->stream = stream;
  return in_stream(stream, [event, number = ++event->recorded] { event->reached = number; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (goes_wrong("fault") || goes_wrong("lost")) {
    event->stream->work.clear();
    return goes_wrong("lost") ? cudaErrorECCUncorrectable : cudaErrorIllegalAddress;
  }
  while (!event->is_reached()) {
    const auto next = std::move(event->stream->work.front());
    event->stream->work.pop_front();
    next();
  }
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = 0.5F;
  return start->is_reached() && stop->is_reached() ? cudaSuccess : cudaErrorNotReady;
}
const char *cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorNoDevice                 ? "cudaErrorNoDevice"
         : error == cudaErrorNoKernelImageForDevice ? "cudaErrorNoKernelImageForDevice"
         : error == cudaErrorIllegalAddress         ? "cudaErrorIllegalAddress"
         : error == cudaErrorMemoryAllocation       ? "cudaErrorMemoryAllocation"
         : error == cudaErrorECCUncorrectable       ? "cudaErrorECCUncorrectable"
         : error == cudaErrorDevicesUnavailable     ? "cudaErrorDevicesUnavailable"
                                                    : "another error";
}
const char *cudaGetErrorString(cudaError_t) { return "as the stand-in was asked"; }
