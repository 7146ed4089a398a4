// Exact verification: how many elements differ from the sum that the host computes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace vector_add {

struct Verification {
  std::uint64_t mismatches;
  std::string first;  // the first wrong element in words, empty where there is none
};

// Compares every element bit by bit. Neither not-a-number, with any bits, nor a missing element passes.
Verification verify(std::span<const float> a, std::span<const float> b, std::span<const float> sum);

}  // namespace vector_add
