// Memory of the host: how much there is for the vectors, and sizes as people read them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace vector_add {

// Bytes that this process may still take: what the machine has available, or less where a control group limits it.
// Nothing where neither can be read.
std::optional<std::size_t> available_host_memory();

// 1500000000 as "1.50 GB", in the largest unit of B, kB, MB, GB and TB that leaves a whole number before the point.
std::string readable_bytes(std::size_t bytes);

}  // namespace vector_add
