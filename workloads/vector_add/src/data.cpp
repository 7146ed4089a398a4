#include "data.h"

#include <random>

namespace vector_add {

std::vector<float> random_vector(std::size_t elements, std::uint32_t seed) {
  // The standard fixes the engine's output but not that of std::uniform_real_distribution, so the mapping is ours.
  std::mt19937 engine(seed);
  constexpr float spacing = 1.0F / 16777216.0F;  // 2^-24
  std::vector<float> vector(elements);
  for (float &value : vector) {
    value = static_cast<float>(engine() >> 8U) * spacing;
  }
  return vector;
}

}  // namespace vector_add
