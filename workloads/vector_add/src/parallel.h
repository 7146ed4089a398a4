// Work on all elements by all cores. In: a number of elements and what is done with a range of them.
#pragma once

#include <cstdint>
#include <functional>

#include "shape.h"

namespace vector_add {

// Calls `work` for ranges that together hold each element once, at the same time on as many cores as pay, and waits for all.
// `work` must not throw.
void in_parts(std::uint64_t elements, const std::function<void(Range)> &work);

}  // namespace vector_add
