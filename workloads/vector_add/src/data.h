// Vectors on the host, of numbers in [0, 1) that depend only on the seed and are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace vector_add {

constexpr std::uint32_t first_seed = 20190417;
constexpr std::uint32_t second_seed = 20190613;

// Floats that share no page with other data, so that CUDA can lock their pages. Throws std::bad_alloc.
class HostVector {
 public:
  HostVector() = default;
  explicit HostVector(std::size_t elements);  // uninitialized
  std::size_t size() const { return size_; }
  float *data() { return floats_.get(); }
  const float *data() const { return floats_.get(); }
  operator std::span<float>() { return {data(), size_}; }
  operator std::span<const float>() const { return {data(), size_}; }

 private:
  struct Free {
    void operator()(float *pointer) const noexcept { std::free(pointer); }
  };
  std::unique_ptr<float, Free> floats_;
  std::size_t size_ = 0;
};

// Element `index` of the vector of `seed`: a multiple of 2^-24 in [0, 1), a value that a float holds exactly.
float random_element(std::uint64_t index, std::uint32_t seed);

HostVector random_vector(std::size_t elements, std::uint32_t seed);

// All not-a-number, so that an element which is never written can't pass the verification.
HostVector unwritten_vector(std::size_t elements);

}  // namespace vector_add
