#include <cuda_runtime.h>

#include <iostream>
#include <memory>

#include "device.h"
#include "kernel.h"
#include "memory.h"

namespace vector_add {
namespace {

__global__ void add_all(const float *a, const float *b, float *sum, std::size_t elements) {
  add_one(a, b, sum, elements, blockIdx.x, blockDim.x, threadIdx.x);
}

std::string described(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

void check(cudaError_t error, const std::string &step) {
  if (error != cudaSuccess) {
    throw DeviceError(step + ": " + described(error));
  }
}

struct FreeOnDevice {
  // A failure here has nobody left to tell; the driver takes the memory back when the process ends.
  void operator()(float *pointer) const noexcept { cudaFree(pointer); }
};
using DeviceVector = std::unique_ptr<float, FreeOnDevice>;

DeviceVector device_vector(std::size_t elements) {
  void *pointer = nullptr;
  check(cudaMalloc(&pointer, elements * sizeof(float)), "allocating device memory");
  return DeviceVector(static_cast<float *>(pointer));
}

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating a timing event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  void record() { check(cudaEventRecord(event_), "recording a timing event"); }
  void wait() { check(cudaEventSynchronize(event_), "running the kernel"); }
  double seconds_since(const Event &start) const {
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading a timing event");
    return static_cast<double>(milliseconds) / 1000.0;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

void require_device_memory(std::size_t bytes) {
  std::size_t available = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&available, &total), "asking for the free device memory");
  if (bytes > available) {
    throw MemoryError("not enough device memory: the vectors need " + readable_bytes(bytes) + ", " +
                      readable_bytes(available) + " of " + readable_bytes(total) + " are free");
  }
}

}  // namespace

CudaDevice find_cuda_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    return {false, "", "No CUDA device: " + described(error)};
  }
  if (count == 0) {
    return {false, "", "No CUDA device"};
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "reading the properties of CUDA device 0");
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "reading the driver's version");
  const std::string version = std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
  return {true, properties.name, "", properties.totalGlobalMem, version};
}

Run run_on_cuda(const std::vector<float> &a, const std::vector<float> &b, const Launch &launch) {
  const std::size_t elements = a.size();
  const std::size_t bytes = elements * sizeof(float);
  check(cudaSetDevice(0), "selecting CUDA device 0");
  require_device_memory(3 * bytes);
  const DeviceVector device_a = device_vector(elements);
  const DeviceVector device_b = device_vector(elements);
  const DeviceVector device_sum = device_vector(elements);

  std::cout << "Copy input data from the host memory to the CUDA device" << std::endl;
  check(cudaMemcpy(device_a.get(), a.data(), bytes, cudaMemcpyHostToDevice), "copying the first vector to the device");
  check(cudaMemcpy(device_b.get(), b.data(), bytes, cudaMemcpyHostToDevice), "copying the second vector to the device");
  // All bits set is not a number, so an element which the kernel misses can't pass the verification.
  check(cudaMemset(device_sum.get(), 0xFF, bytes), "clearing the result on the device");

  std::cout << "CUDA kernel launch with " << launch.blocks << " blocks of " << launch.threads << " threads" << std::endl;
  Run run;
  Event start;
  Event stop;
  for (std::size_t repeat = 0; repeat < launch.repeats; ++repeat) {
    start.record();
    add_all<<<static_cast<unsigned int>(launch.blocks), static_cast<unsigned int>(launch.threads)>>>(
        device_a.get(), device_b.get(), device_sum.get(), elements);
    check(cudaGetLastError(), "launching the kernel");
    stop.record();
    stop.wait();
    run.seconds.push_back(stop.seconds_since(start));
  }
  check(cudaDeviceSynchronize(), "waiting for the kernel");

  std::cout << "Copy output data from the CUDA device to the host memory" << std::endl;
  run.sum.resize(elements);
  check(cudaMemcpy(run.sum.data(), device_sum.get(), bytes, cudaMemcpyDeviceToHost), "copying the result to the host");
  return run;
}

}  // namespace vector_add
