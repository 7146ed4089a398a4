#include "verify.h"

#include <limits>
#include <mutex>
#include <sstream>

#include "addition.h"
#include "parallel.h"

namespace vector_add {

Verification verify(std::span<const float> a, std::span<const float> b, std::span<const float> sum) {
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  const auto at = [sum](std::uint64_t i) { return i < sum.size() ? sum[i] : std::numeric_limits<float>::quiet_NaN(); };
  std::mutex guard;
  std::uint64_t mismatches = 0;
  std::uint64_t first = none;
  in_parts(a.size(), [&](Range part) {
    std::uint64_t wrong = 0;
    std::uint64_t first_wrong = none;
    for (std::uint64_t i = part.first; i < part.first + part.count; ++i) {
      if (!is_right(a[i], b[i], at(i))) {
        first_wrong = wrong == 0 ? i : first_wrong;
        ++wrong;
      }
    }
    const std::lock_guard held(guard);
    mismatches += wrong;
    first = smaller(first, first_wrong);
  });
  if (mismatches == 0) {
    return {0, ""};
  }
  std::ostringstream text;
  text.precision(std::numeric_limits<float>::max_digits10);
  text << "element " << first << " is " << at(first) << ", expected " << expected_sum(a[first], b[first]) << " = " << a[first] << " + "
       << b[first];
  return {mismatches, text.str()};
}

}  // namespace vector_add
