// The kernel body: the one addition that runs on the GPU and on the CPU.
//
// A CUDA compiler builds it for both; any other C++ compiler builds the same text for the CPU.
#pragma once

#include <cstddef>

#ifdef __CUDACC__
#define HOST_AND_DEVICE __host__ __device__
#else
#define HOST_AND_DEVICE
#endif

namespace vector_add {

// Adds element `thread` of block `block`. The last block may reach past the end, hence the check.
HOST_AND_DEVICE inline void add_one(const float *a, const float *b, float *sum, std::size_t elements, std::size_t block,
                                    std::size_t threads, std::size_t thread) {
  const std::size_t i = block * threads + thread;
  if (i < elements) {
    sum[i] = a[i] + b[i];
  }
}

}  // namespace vector_add
