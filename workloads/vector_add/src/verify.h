// Exact verification. In: both inputs and the result. Out: how many elements differ from the host's own sum.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vector_add {

struct Verification {
  std::size_t mismatches;
  std::string first;  // the first wrong element in words, empty where there is none
};

// Compares every element bit by bit. Not-a-number never passes, whatever its bits; neither does a missing element.
Verification verify(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &sum);

}  // namespace vector_add
