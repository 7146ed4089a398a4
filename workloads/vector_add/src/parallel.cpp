#include "parallel.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace vector_add {
namespace {

constexpr std::uint64_t worth_a_thread = std::uint64_t{1} << 20U;  // elements: some milliseconds of work
constexpr std::uint64_t grain = 1024;                              // a page, so that no two threads write the same

}  // namespace

void in_parts(std::uint64_t elements, const std::function<void(Range)> &work) {
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t parts = std::clamp<std::uint64_t>(elements / worth_a_thread, 1, cores);
  std::vector<std::jthread> threads;
  for (std::uint64_t part = 1; part < parts; ++part) {
    const auto run = [=, &work] { work(part_of(elements, part, parts, grain)); };
    try {
      threads.emplace_back(run);
    } catch (const std::system_error &) {  // a container may limit its threads
      run();
    }
  }
  work(part_of(elements, 0, parts, grain));
}

}  // namespace vector_add
