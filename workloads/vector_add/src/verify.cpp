#include "verify.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>

namespace vector_add {
namespace {

// The host's own sum, by another way than the kernel's: doubles hold the sum of two floats so closely (53 bits are more
// than twice 24 and two) that rounding twice gives the float which one correctly rounded float addition gives.
float expected_sum(float a, float b) { return static_cast<float>(static_cast<double>(a) + static_cast<double>(b)); }

bool same(float expected, float actual) {
  return !std::isnan(actual) && std::bit_cast<std::uint32_t>(expected) == std::bit_cast<std::uint32_t>(actual);
}

}  // namespace

Verification verify(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &sum) {
  Verification verification{0, ""};
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float expected = expected_sum(a[i], b[i]);
    const float actual = i < sum.size() ? sum[i] : std::numeric_limits<float>::quiet_NaN();
    if (same(expected, actual)) {
      continue;
    }
    if (verification.mismatches == 0) {
      std::ostringstream text;
      text.precision(std::numeric_limits<float>::max_digits10);
      text << "element " << i << " is " << actual << ", expected " << expected << " = " << a[i] << " + " << b[i];
      verification.first = text.str();
    }
    ++verification.mismatches;
  }
  return verification;
}

}  // namespace vector_add
