// Tests that the verification can fail: every kind of wrong result has to be found and counted.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "data.h"
#include "device.h"
#include "verify.h"

namespace {

using namespace vector_add;

constexpr std::size_t elements = 1000;
int failures = 0;

std::vector<float> copy_of(const HostVector &vector) { return {vector.data(), vector.data() + vector.size()}; }

void expect(const char *what, std::size_t mismatches, std::span<const float> a, std::span<const float> b, std::span<const float> sum) {
  const Verification verification = verify(a, b, sum);
  const bool named = verification.first.empty() == (mismatches == 0);
  if (verification.mismatches != mismatches || !named) {
    std::cerr << "FAILED " << what << ": " << verification.mismatches << " mismatches (" << verification.first << "), expected "
              << mismatches << "\n";
    ++failures;
  }
}

}  // namespace

int main() {
  const auto a = random_vector(elements, first_seed);
  const auto b = random_vector(elements, second_seed);
  const std::vector<float> right = copy_of(run_on_cpu(a, b, {256, 1}).sum);
  expect("the right result", 0, a, b, right);

  auto wrong = right;
  wrong[elements - 1] = std::nextafter(wrong[elements - 1], 2.0F);
  expect("the last bit of the last element", 1, a, b, wrong);

  wrong = right;
  wrong[0] = std::numeric_limits<float>::quiet_NaN();
  wrong[500] = -std::numeric_limits<float>::quiet_NaN();
  expect("not a number", 2, a, b, wrong);

  expect("nothing but not-a-number", elements, a, b, std::vector<float>(elements, std::nanf("")));
  expect("a result that was never written", elements, a, b, std::vector<float>(elements, 0.0F));
  expect("a result that is too short", 1, a, b, std::span(right).first(elements - 1));
  // Three blocks of 256 leave the elements from 768 on unwritten.
  expect("too few blocks", elements - 768, a, b, run_on_cpu(a, b, {256, 1}, 3).sum);

  const std::vector<float> zero{0.0F};
  const std::vector<float> negative_zero{-0.0F};
  const std::vector<float> not_a_number{std::nanf("")};
  // A negative zero equals zero but isn't the same float.
  expect("the sign of zero", 1, zero, zero, negative_zero);
  // An input which isn't a number can't be proved to be added rightly.
  expect("a sum that has to be not-a-number", 1, not_a_number, zero, not_a_number);

  // Enough elements that several threads verify them: every wrong one is counted, and the first one is named.
  const std::size_t many = (std::size_t{1} << 22U) + 5;
  const auto long_a = random_vector(many, first_seed);
  const auto long_b = random_vector(many, second_seed);
  auto long_sum = run_on_cpu(long_a, long_b, {256, 1}).sum;
  expect("many elements", 0, long_a, long_b, long_sum);
  long_sum.data()[many - 1] = -1.0F;
  long_sum.data()[many / 2] = -1.0F;
  expect("two of many", 2, long_a, long_b, long_sum);
  if (!verify(long_a, long_b, long_sum).first.starts_with("element " + std::to_string(many / 2) + " ")) {
    std::cerr << "FAILED the first of two: " << verify(long_a, long_b, long_sum).first << "\n";
    ++failures;
  }

  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
