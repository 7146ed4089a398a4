#include "data.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <new>

#include "parallel.h"

namespace vector_add {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t large_page = std::size_t{2} << 20U;

}  // namespace

HostVector::HostVector(std::size_t elements) : size_(elements) {
  const std::size_t bytes = elements * sizeof(float);
  const std::size_t border = bytes < large_page ? page : large_page;
  const std::size_t whole = (bytes + border - 1) / border * border;
  floats_.reset(static_cast<float *>(std::aligned_alloc(border, whole)));
  if (floats_ == nullptr) {
    throw std::bad_alloc();
  }
  if (border == large_page) {
    madvise(floats_.get(), whole, MADV_HUGEPAGE);  // advice: where the system has no large pages, it only takes longer
  }
}

float random_element(std::uint64_t index, std::uint32_t seed) {
  // SplitMix64's finalizer (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014) over the element's position
  // in the seed's part of the sequence: elements are independent, so several threads can write one vector.
  std::uint64_t bits = (static_cast<std::uint64_t>(seed) << 42U) + index;
  bits *= 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  bits ^= bits >> 31U;
  constexpr float spacing = 1.0F / 16777216.0F;  // 2^-24
  return static_cast<float>(bits >> 40U) * spacing;
}

HostVector random_vector(std::size_t elements, std::uint32_t seed) {
  HostVector vector(elements);
  in_parts(elements, [&vector, seed](Range part) {
    for (std::uint64_t i = part.first; i < part.first + part.count; ++i) {
      vector.data()[i] = random_element(i, seed);
    }
  });
  return vector;
}

HostVector unwritten_vector(std::size_t elements) {
  HostVector vector(elements);
  in_parts(elements, [&vector](Range part) {
    std::fill_n(vector.data() + part.first, part.count, std::numeric_limits<float>::quiet_NaN());
  });
  return vector;
}

}  // namespace vector_add
