// Measures the addition on the first CUDA device against what the device can do, in turn in one run: every round takes each
// measurement once. Out: one JSON object with the figures of each round, in 10^9 bytes a second counted as BabelStream does (copy: two
// vectors, add: three) or in microseconds; problems on standard error. Exit code: as vector_add's.
//
//   vector_add_bench [ELEMENTS [ROUNDS]]
#include <charconv>
#include <functional>
#include <iostream>
#include <map>
#include <new>
#include <string_view>

#include "cuda_parts.cuh"

namespace {

using namespace vector_add;

enum ExitCode { measured = 0, wrong_result = 1, usage = 2, no_gpu = 3 };

constexpr std::uint64_t threads = 256;
constexpr std::uint64_t article_elements = 50000;
constexpr int launches = 200;  // in a row: their mean is free of what one measurement costs

__global__ void nothing() {}

// An element a thread, 32 bits at a time: the addition as CUDA's first sample has it.
__global__ void add_plainly(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ sum, std::uint64_t elements) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < elements) {
    sum[i] = a[i] + b[i];
  }
}

struct Sizes {
  std::uint64_t elements = std::uint64_t{1} << 28U;
  std::uint64_t rounds = 20;
};

bool read(std::string_view text, std::uint64_t &into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size() && into > 0 && into <= std::uint64_t{1} << 38U;
}

// The figures of all rounds by name.
using Figures = std::map<std::string, std::vector<double>>;

class Bench {
 public:
  Bench(const CudaDevice &device, Sizes sizes)
      : sizes_(sizes),
        most_blocks_(most_blocks(device, threads)),
        a_(sizes.elements),
        b_(sizes.elements),
        sum_(sizes.elements),
        host_(random_vector(smaller(sizes.elements, largest_chunk), first_seed)),
        pinned_(host_) {
    const HostVector second = random_vector(host_.size(), second_seed);
    for (std::uint64_t from = 0; from < sizes.elements; from += host_.size()) {
      const std::size_t bytes = smaller(host_.size(), sizes.elements - from) * sizeof(float);
      check(cudaMemcpy(a_.get() + from, host_.data(), bytes, cudaMemcpyHostToDevice), "copying the first vector to the device");
      check(cudaMemcpy(b_.get() + from, second.data(), bytes, cudaMemcpyHostToDevice), "copying the second vector to the device");
    }
    check(cudaMemset(sum_.get(), 0xFF, sizes.elements * sizeof(float)), "clearing the result on the device");
    check(cudaDeviceSynchronize(), "filling the device's memory");
  }

  // One round; the first, in which the driver loads each kernel, isn't recorded.
  void round(Figures *figures) {
    const double vector = static_cast<double>(sizes_.elements * sizeof(float));
    const double host_vector = static_cast<double>(host_.size() * sizeof(float));
    const auto keep = [figures](const char *name, double figure) {
      if (figures != nullptr) {
        (*figures)[name].push_back(figure);
      }
    };
    keep("copy_gb_per_s", 2 * vector / 1e9 / seconds([this] {
      check(cudaMemcpyAsync(sum_.get(), a_.get(), sizes_.elements * sizeof(float), cudaMemcpyDeviceToDevice, stream_.get()),
            "copying on the device");
    }));
    keep("plain_gb_per_s", 3 * vector / 1e9 / seconds([this] {
      add_plainly<<<static_cast<unsigned int>(divided_up(sizes_.elements, threads)), threads, 0, stream_.get()>>>(
          a_.get(), b_.get(), sum_.get(), sizes_.elements);
    }));
    keep("add_gb_per_s", 3 * vector / 1e9 / seconds([this] { add(sizes_.elements); }));
    keep("empty_launch_us", 1e6 / launches * seconds([this] {
      for (int i = 0; i < launches; ++i) nothing<<<grid(article_elements), threads, 0, stream_.get()>>>();
    }));
    const std::uint64_t few = smaller(article_elements, sizes_.elements);
    keep("add_launch_us", 1e6 / launches * seconds([this, few] {
      for (int i = 0; i < launches; ++i) add(few);
    }));
    keep("to_device_gb_per_s", host_vector / 1e9 / seconds([this] {
      check(cudaMemcpyAsync(a_.get(), host_.data(), host_.size() * sizeof(float), cudaMemcpyHostToDevice, stream_.get()),
            "copying to the device");
    }));
    keep("from_device_gb_per_s", host_vector / 1e9 / seconds([this] {
      check(cudaMemcpyAsync(host_.data(), a_.get(), host_.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_.get()),
            "copying from the device");
    }));
  }

  // Wrong elements of the last addition, as the device counts them.
  std::uint64_t mismatches() {
    const DeviceMemory<unsigned long long> wrong(1);
    unsigned long long count = 0;
    check(cudaMemset(wrong.get(), 0, sizeof count), "clearing the device's count");
    check(cudaMemset(sum_.get(), 0xFF, sizes_.elements * sizeof(float)), "clearing the result on the device");
    check(cudaDeviceSynchronize(), "clearing the device's memory");
    add(sizes_.elements);
    count_wrong<<<grid(sizes_.elements), threads, 0, stream_.get()>>>(a_.get(), b_.get(), sum_.get(), sizes_.elements, wrong.get());
    check(cudaGetLastError(), "launching the verification");
    check(cudaStreamSynchronize(stream_.get()), "running the verification");
    check(cudaMemcpy(&count, wrong.get(), sizeof count, cudaMemcpyDeviceToHost), "copying the device's count to the host");
    return count;
  }

  bool pinned() const { return pinned_.locked(); }

 private:
  unsigned int grid(std::uint64_t elements) const { return static_cast<unsigned int>(blocks_for(elements, threads, most_blocks_)); }

  void add(std::uint64_t elements) {
    add_all<<<grid(elements), threads, 0, stream_.get()>>>(a_.get(), b_.get(), sum_.get(), elements);
  }

  double seconds(const std::function<void()> &work) {
    start_.record(stream_);
    work();
    check(cudaGetLastError(), "launching a kernel");
    stop_.record(stream_);
    stop_.wait("running a measurement");
    return stop_.seconds_since(start_);
  }

  Sizes sizes_;
  std::uint64_t most_blocks_;
  DeviceMemory<float> a_;
  DeviceMemory<float> b_;
  DeviceMemory<float> sum_;
  HostVector host_;
  Pinned pinned_;
  Stream stream_;
  Event start_;
  Event stop_;
};

int fail(ExitCode code, const std::string &problem) {
  std::cerr << "vector_add_bench: " << problem << std::endl;
  return code;
}

int run(Sizes sizes) {
  const CudaDevices found = find_cuda_devices(1);
  if (found.usable.empty()) {
    return fail(no_gpu, found.reason);
  }
  const CudaDevice &device = found.usable.front();
  select(device);
  Bench bench(device, sizes);
  Figures figures;
  bench.round(nullptr);
  for (std::uint64_t round = 0; round < sizes.rounds; ++round) {
    bench.round(&figures);
  }
  const std::uint64_t mismatches = bench.mismatches();
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "reading the runtime's version");
  std::cout << "{\"device_name\": \"" << device.name << "\", \"cuda_driver\": \"" << found.driver << "\", \"cuda_runtime\": \""
            << runtime / 1000 << '.' << runtime % 1000 / 10 << "\", \"elements\": " << sizes.elements
            << ", \"pinned\": " << (bench.pinned() ? "true" : "false") << ", \"mismatches\": " << mismatches << ", \"rounds\": {";
  const char *between = "";
  for (const auto &[name, each] : figures) {
    std::cout << between << "\"" << name << "\": [";
    for (std::size_t i = 0; i < each.size(); ++i) {
      std::cout << (i == 0 ? "" : ", ") << each[i];
    }
    std::cout << "]";
    between = ", ";
  }
  std::cout << "}}" << std::endl;
  return mismatches == 0 ? measured : fail(wrong_result, std::to_string(mismatches) + " elements are wrong");
}

}  // namespace

int main(int argc, char **argv) {
  Sizes sizes;
  if (argc > 3 || (argc > 1 && !read(argv[1], sizes.elements)) || (argc > 2 && !read(argv[2], sizes.rounds))) {
    return fail(usage, "usage: vector_add_bench [ELEMENTS [ROUNDS]], whole numbers from 1 to 2^38");
  }
  try {
    return run(sizes);
  } catch (const MemoryError &error) {
    return fail(usage, error.what());
  } catch (const std::bad_alloc &) {
    return fail(usage, "not enough memory on the host");
  } catch (const DeviceError &error) {
    return fail(wrong_result, error.what());
  }
}
