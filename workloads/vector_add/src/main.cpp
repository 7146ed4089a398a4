// Vector addition on a GPU, or on the CPU where there is none, with every element verified.
//
// Prints progress and one JSON line on standard output and problems on standard error; callers depend on the exit codes below.
#include <iostream>
#include <new>

#include "data.h"
#include "device.h"
#include "memory.h"
#include "options.h"
#include "report.h"
#include "shape.h"
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

// Linux overcommits memory and kills the process later, so the size of the vectors is checked beforehand.
void require_host_memory(std::uint64_t elements) {
  const std::uint64_t needed = three_vectors * elements;
  const auto available = available_host_memory();
  if (available && needed > *available) {
    throw MemoryError("not enough memory: " + std::to_string(elements) + " elements need " + readable_bytes(needed) + ", " +
                      readable_bytes(*available) + " are available; use fewer --elements");
  }
}

int run(const Options &options) {
  const CudaDevices cuda = options.device == Device::cpu ? CudaDevices{{}, "", "CPU requested"} : find_cuda_devices(options.gpus);
  const bool on_cpu = cuda.usable.empty();
  const bool required = options.require_gpu || options.device == Device::cuda;
  if ((on_cpu && required) || (options.gpus > 1 && cuda.usable.size() < options.gpus)) {
    const std::string option = options.gpus > 1        ? "--gpus " + std::to_string(options.gpus)
                               : options.require_gpu ? "--require-gpu"
                                                     : "--device cuda";
    return fail(no_gpu, {option + ": " + cuda.reason});
  }

  require_host_memory(options.elements);
  std::cout << "[Vector addition of " << options.elements << " elements]" << std::endl;
  const HostVector a = random_vector(options.elements, first_seed);
  const HostVector b = random_vector(options.elements, second_seed);
  const Launch launch{options.threads, options.repeats, options.chunk};
  if (on_cpu) {
    std::cout << cuda.reason << ": the kernel body runs on the CPU, " << divided_up(options.elements, launch.threads) << " blocks of "
              << launch.threads << " threads" << std::endl;
  }
  const Run finished = on_cpu ? run_on_cpu(a, b, launch) : run_on_cuda(cuda.usable, a, b, launch);

  const Verification verification = verify(a, b, finished.sum);
  const std::uint64_t on_device = finished.passages ? finished.passages->mismatches : 0;
  const std::string report = report_line(options, cuda, finished, verification.mismatches);
  if (verification.mismatches != 0) {
    std::cerr << "vector_add: " << verification.mismatches << " of " << options.elements
              << " elements are wrong; the first: " << verification.first << std::endl;
  }
  if (finished.passages && on_device != verification.mismatches) {
    std::cerr << "vector_add: the device counts " << on_device << " wrong elements, the host " << verification.mismatches
              << ": a copy between them went wrong" << std::endl;
  }
  if (verification.mismatches != 0 || on_device != 0) {
    std::cout << "Test FAILED\n" << report << std::endl;
    return wrong_result;
  }
  std::cout << "Test PASSED\nDone\n" << report << std::endl;
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
