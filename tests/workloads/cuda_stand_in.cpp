// Stands in for NVIDIA's runtime library where there is a CUDA compiler and no GPU: "device memory" is the host's, and a launch
// runs the kernel body on the CPU. It shows that the program calls the runtime rightly and believes what it answers; it shows
// nothing about a real GPU. CUDA_STAND_IN names what goes wrong: no-device, small-memory, no-image, fault, wrong-element.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "kernel.h"

namespace {

bool goes_wrong(const char *what) {
  const char *asked = std::getenv("CUDA_STAND_IN");
  return asked != nullptr && std::strcmp(asked, what) == 0;
}

dim3 pushed_grid;
dim3 pushed_block;
cudaError_t launch_error = cudaSuccess;
int allocations = 0;

cudaError_t launch(dim3 grid, dim3 block, void **arguments) {
  if (goes_wrong("no-image")) {
    return launch_error = cudaErrorNoKernelImageForDevice;
  }
  const auto a = *static_cast<const float **>(arguments[0]);
  const auto b = *static_cast<const float **>(arguments[1]);
  const auto sum = *static_cast<float **>(arguments[2]);
  const auto elements = *static_cast<std::size_t *>(arguments[3]);
  for (std::size_t i = 0; i < grid.x; ++i) {
    for (std::size_t j = 0; j < block.x; ++j) {
      vector_add::add_one(a, b, sum, elements, i, block.x, j);
    }
  }
  if (goes_wrong("wrong-element")) {
    sum[elements - 1] = std::numeric_limits<float>::quiet_NaN();
  }
  return cudaSuccess;
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
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t, cudaStream_t) {
  pushed_grid = grid;
  pushed_block = block;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  *grid = pushed_grid;
  *block = pushed_block;
  *shared = 0;
  *static_cast<void **>(stream) = nullptr;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(void **kernel, const void *function) {
  *kernel = const_cast<void *>(function);
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(void *, dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t) {
  return launch(grid, block, arguments);
}
}

// What the program calls.
cudaError_t cudaLaunchKernel(const void *, dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t) {
  return launch(grid, block, arguments);
}
cudaError_t cudaGetDeviceCount(int *count) {
  *count = goes_wrong("no-device") ? 0 : 1;
  return goes_wrong("no-device") ? cudaErrorNoDevice : cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  std::strcpy(properties->name, "Stand-in for a GPU");
  properties->totalGlobalMem = std::size_t{16} << 30;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  *version = 12090;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  *total = std::size_t{16} << 30;
  *available = goes_wrong("small-memory") ? 1000 : *total;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  *pointer = std::malloc(bytes);
  ++allocations;
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void *pointer) {
  std::free(pointer);
  if (--allocations == 0) {
    std::fprintf(stderr, "stand-in: all device memory was freed\n");
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(launch_error, cudaSuccess); }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return goes_wrong("fault") ? cudaErrorIllegalAddress : cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0.5F;
  return cudaSuccess;
}
const char *cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorNoDevice                 ? "cudaErrorNoDevice"
         : error == cudaErrorNoKernelImageForDevice ? "cudaErrorNoKernelImageForDevice"
         : error == cudaErrorIllegalAddress         ? "cudaErrorIllegalAddress"
                                                    : "another error";
}
const char *cudaGetErrorString(cudaError_t) { return "as the stand-in was asked"; }
