// The input vectors. In: a length and a seed. Out: numbers in [0, 1), the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vector_add {

constexpr std::uint32_t first_seed = 20190417;
constexpr std::uint32_t second_seed = 20190613;

// `elements` multiples of 2^-24 in [0, 1): every value that a float holds exactly, and never not-a-number.
std::vector<float> random_vector(std::size_t elements, std::uint32_t seed);

}  // namespace vector_add
