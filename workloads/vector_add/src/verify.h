// Exact verification. In: both inputs and the result. Out: how many elements differ from the host's own sum.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace vector_add {

struct Verification {
  std::uint64_t mismatches;
  std::string first;  // the first wrong element in words, empty where there is none
};

// Compares every element bit by bit. Not-a-number never passes, whatever its bits; neither does a missing element.
Verification verify(std::span<const float> a, std::span<const float> b, std::span<const float> sum);

}  // namespace vector_add
