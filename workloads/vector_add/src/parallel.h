// Work on ranges of elements, distributed over all cores.
#pragma once

#include <cstdint>
#include <functional>

#include "shape.h"

namespace vector_add {

// Calls `work` for ranges that together hold each element once, in parallel on as many cores as are worth a thread, and waits
// for all. `work` must not throw.
void in_parts(std::uint64_t elements, const std::function<void(Range)> &work);

}  // namespace vector_add
