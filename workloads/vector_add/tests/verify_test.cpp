// Proves that the verification can fail: every kind of wrong result has to be found and counted.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "data.h"
#include "device.h"
#include "verify.h"

namespace {

using namespace vector_add;

constexpr std::size_t elements = 1000;
int failures = 0;

void expect(const char *what, std::size_t mismatches, const std::vector<float> &a, const std::vector<float> &b,
            const std::vector<float> &sum) {
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
  const auto right = run_on_cpu(a, b, {4, 256, 1}).sum;
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
  expect("a result that is too short", 1, a, b, {right.begin(), right.end() - 1});

  // Three blocks of 256 leave the elements from 768 on unwritten.
  expect("too few blocks", elements - 768, a, b, run_on_cpu(a, b, {3, 256, 1}).sum);

  // A negative zero equals zero but isn't the same float.
  expect("the sign of zero", 1, {0.0F}, {0.0F}, {-0.0F});
  // An input which isn't a number can't be proved to be added rightly.
  expect("a sum that has to be not-a-number", 1, {std::nanf("")}, {0.0F}, {std::nanf("")});

  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
