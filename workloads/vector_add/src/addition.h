// The addition of an element and the check of a sum, on the GPU and on the CPU.
//
// A CUDA compiler builds them for both; any other C++ compiler builds the same text for the CPU.
#pragma once

#include <cstdint>
#include <cstring>

#include "shape.h"

namespace vector_add {

// Four floats on a 128-bit boundary, which the GPU reads or writes by one instruction.
struct alignas(16) Four {
  float x, y, z, w;
};

// How many floats an address lies past a 128-bit boundary.
HOST_AND_DEVICE inline std::uint64_t past_border(const float *address) {
  return reinterpret_cast<std::uintptr_t>(address) / sizeof(float) % vector_width;
}

// Adds what thread `thread` of `threads` has to add. The addresses need no alignment.
HOST_AND_DEVICE inline void add_share(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ sum,
                                      std::uint64_t elements, std::uint64_t thread, std::uint64_t threads) {
  const Split split = split_of(elements, past_border(a), past_border(b), past_border(sum));
  visit(
      split, thread, threads, [=](std::uint64_t i) { sum[i] = a[i] + b[i]; },
      [=](std::uint64_t i) {
        const Four first = *reinterpret_cast<const Four *>(a + i);
        const Four second = *reinterpret_cast<const Four *>(b + i);
        *reinterpret_cast<Four *>(sum + i) = {first.x + second.x, first.y + second.y, first.z + second.z, first.w + second.w};
      });
}

// The sum by another method than the addition's: doubles hold the sum of two floats so closely (53 bits are more than twice 24 and
// two) that rounding twice gives the float which one correctly rounded float addition gives.
HOST_AND_DEVICE inline float expected_sum(float a, float b) {
  return static_cast<float>(static_cast<double>(a) + static_cast<double>(b));
}

// Bit by bit; not-a-number is never right.
HOST_AND_DEVICE inline bool is_right(float a, float b, float sum) {
  const float expected = expected_sum(a, b);
  std::uint32_t expected_bits = 0;
  std::uint32_t bits = 0;
  std::memcpy(&expected_bits, &expected, sizeof bits);
  std::memcpy(&bits, &sum, sizeof bits);
  return sum == sum && expected_bits == bits;
}

}  // namespace vector_add
