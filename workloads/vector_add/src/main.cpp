// Vector addition on a GPU, or on the CPU where there is none, with every element verified.
//
// In: options (see options.h). Out: progress and one JSON line on standard output, problems on standard error,
// and the exit code, which is the contract.
#include <iostream>
#include <new>

#include "data.h"
#include "device.h"
#include "memory.h"
#include "options.h"
#include "report.h"
#include "verify.h"

namespace {

using namespace vector_add;

enum ExitCode { proved = 0, wrong_result = 1, usage = 2, no_gpu = 3 };

int fail(ExitCode code, const std::vector<std::string> &problems) {
  for (const std::string &problem : problems) {
    std::cerr << "vector_add: " << problem << std::endl;
  }
  std::cout << failure_line(code, problems) << std::endl;
  return code;
}

// Linux hands out memory that it doesn't have and ends the process later, so the vectors are weighed beforehand.
void require_host_memory(std::size_t elements) {
  const std::size_t needed = 3 * sizeof(float) * elements;
  const auto available = available_host_memory();
  if (available && needed > *available) {
    throw MemoryError("not enough memory: " + std::to_string(elements) + " elements need " + readable_bytes(needed) + ", " +
                      readable_bytes(*available) + " are available; use fewer --elements");
  }
}

int run(const Options &options) {
  const CudaDevice cuda = options.device == Device::cpu ? CudaDevice{false, "", "CPU asked for"} : find_cuda_device();
  if (!cuda.usable && (options.require_gpu || options.device == Device::cuda)) {
    const std::string option = options.require_gpu ? "--require-gpu" : "--device cuda";
    return fail(no_gpu, {option + ": " + cuda.reason});
  }

  require_host_memory(options.elements);
  std::cout << "[Vector addition of " << options.elements << " elements]" << std::endl;
  const auto a = random_vector(options.elements, first_seed);
  const auto b = random_vector(options.elements, second_seed);
  const Launch launch{options.blocks(), options.threads, options.repeats};
  if (!cuda.usable) {
    std::cout << cuda.reason << ": the kernel body runs on the CPU, " << launch.blocks << " blocks of " << launch.threads
              << " threads" << std::endl;
  }
  const Run finished = cuda.usable ? run_on_cuda(a, b, launch) : run_on_cpu(a, b, launch);

  const Verification verification = verify(a, b, finished.sum);
  const Result result{cuda.usable ? "cuda" : "cpu", cuda.usable ? cuda.name : cpu_name(), cuda.memory_bytes,
                      cuda.driver, finished.seconds, verification.mismatches};
  if (verification.mismatches != 0) {
    std::cerr << "vector_add: " << verification.mismatches << " of " << options.elements
              << " elements are wrong; the first: " << verification.first << std::endl;
    std::cout << "Test FAILED\n" << report_line(options, result) << std::endl;
    return wrong_result;
  }
  std::cout << "Test PASSED\nDone\n" << report_line(options, result) << std::endl;
  return proved;
}

}  // namespace

int main(int argc, char **argv) {
  const Parsed parsed = parse_options({argv + 1, argv + argc});
  if (parsed.options.help) {
    std::cout << help_text();
    return proved;
  }
  if (!parsed.problems.empty()) {
    return fail(usage, parsed.problems);
  }
  try {
    return run(parsed.options);
  } catch (const MemoryError &error) {
    return fail(usage, {error.what()});
  } catch (const std::bad_alloc &) {
    return fail(usage, {"not enough memory for " + std::to_string(parsed.options.elements) + " elements; use fewer --elements"});
  } catch (const DeviceError &error) {
    return fail(wrong_result, {error.what()});
  }
}
