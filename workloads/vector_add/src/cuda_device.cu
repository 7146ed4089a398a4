#include <algorithm>
#include <chrono>
#include <deque>
#include <iostream>

#include "cuda_parts.cuh"

namespace vector_add {
namespace {

// Why a device can't be used; empty where it can.
std::string refusal(int index) {
  const std::string device = "CUDA device " + std::to_string(index);
  int mode = cudaComputeModeDefault;
  if (cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, index) == cudaSuccess && mode == cudaComputeModeProhibited) {
    return device + ": its compute mode is prohibited: no process may use it; `nvidia-smi -c DEFAULT` allows it";
  }
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) {
    error = cudaFree(nullptr);  // makes the context, which an exclusive device gives to one process only
  }
  if (error == cudaSuccess) {
    return "";
  }
  cudaGetLastError();
  if (error == cudaErrorDevicesUnavailable && mode == cudaComputeModeExclusiveProcess) {
    return device + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) +
           "): it is in exclusive mode, and another process holds it";
  }
  return device + ": " + described(error);
}

// One chunk on one device, with a separate stream.
struct Slot {
  explicit Slot(std::uint64_t elements) : a(elements), b(elements), sum(elements) {}

  DeviceMemory<float> a;
  DeviceMemory<float> b;
  DeviceMemory<float> sum;
  Stream stream;
  Event before_copy;
  Event before_kernel;
  Event after_kernel;
  Event after_copy;
  bool under_way = false;
};

// One device with its share of the elements. The device is selected before its worker is made.
class Worker {
 public:
  Worker(const CudaDevice &device, Range share, const Launch &launch) : device_(device), share_(share), threads_(launch.threads) {
    std::size_t available = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&available, &total), "asking for the free device memory");
    passage_ = passage_of(share.count, available, launch.chunk);
    if (passage_.chunks == 0) {
      const bool chunked = launch.chunk != 0 && launch.chunk < share.count;
      const std::uint64_t needed = three_vectors * (chunked ? slots_at_most * launch.chunk : share.count);
      throw MemoryError("not enough device memory: the " + std::string(chunked ? "chunks" : "vectors") + " need " +
                        readable_bytes(needed) + ", " + readable_bytes(available) + " of " + readable_bytes(total) + " are free");
    }
    most_blocks_ = most_blocks(device_, threads_);
    for (std::uint64_t slot = 0; slot < passage_.slots; ++slot) {
      slots_.emplace_back(passage_.chunk);
    }
    check(cudaMemset(wrong_.get(), 0, sizeof(unsigned long long)), "clearing the device's count");
    // The streams don't wait for the default one, in which the count is cleared.
    check(cudaDeviceSynchronize(), "clearing the device's count");
  }

  const Passage &passage() const { return passage_; }
  std::uint64_t blocks() const { return blocks_for(passage_.chunk, threads_, most_blocks_); }
  Range chunk(std::uint64_t number) const { return chunk_of(share_, number, passage_.chunk); }
  Slot &slot(std::uint64_t chunk) { return slots_[chunk % passage_.slots]; }
  void select_it() const { select(device_); }

  void copy_in(Slot &slot, Range chunk, std::span<const float> a, std::span<const float> b) const {
    const std::size_t bytes = chunk.count * sizeof(float);
    slot.before_copy.record(slot.stream);
    check(cudaMemcpyAsync(slot.a.get(), a.data() + chunk.first, bytes, cudaMemcpyHostToDevice, slot.stream.get()),
          "copying the first vector to the device");
    check(cudaMemcpyAsync(slot.b.get(), b.data() + chunk.first, bytes, cudaMemcpyHostToDevice, slot.stream.get()),
          "copying the second vector to the device");
    slot.after_copy.record(slot.stream);
    // All bits set is not a number, so an element which the kernel misses can't pass the verification.
    check(cudaMemsetAsync(slot.sum.get(), 0xFF, bytes, slot.stream.get()), "clearing the result on the device");
  }

  void add(Slot &slot, Range chunk) const {
    slot.before_kernel.record(slot.stream);
    add_all<<<grid(chunk), static_cast<unsigned int>(threads_), 0, slot.stream.get()>>>(slot.a.get(), slot.b.get(), slot.sum.get(),
                                                                                        chunk.count);
    check(cudaGetLastError(), "launching the kernel");
    slot.after_kernel.record(slot.stream);
  }

  void verify(Slot &slot, Range chunk) const {
    count_wrong<<<grid(chunk), static_cast<unsigned int>(threads_), 0, slot.stream.get()>>>(slot.a.get(), slot.b.get(),
                                                                                            slot.sum.get(), chunk.count, wrong_.get());
    check(cudaGetLastError(), "launching the verification");
  }

  void copy_out(Slot &slot, Range chunk, float *sum) const {
    slot.before_copy.record(slot.stream);
    check(cudaMemcpyAsync(sum + chunk.first, slot.sum.get(), chunk.count * sizeof(float), cudaMemcpyDeviceToHost, slot.stream.get()),
          "copying the result to the host");
    slot.after_copy.record(slot.stream);
  }

  std::uint64_t mismatches() const {
    unsigned long long wrong = 0;
    select(device_);
    check(cudaMemcpy(&wrong, wrong_.get(), sizeof wrong, cudaMemcpyDeviceToHost), "copying the device's count to the host");
    return wrong;
  }

 private:
  unsigned int grid(Range chunk) const { return static_cast<unsigned int>(blocks_for(chunk.count, threads_, most_blocks_)); }

  CudaDevice device_;
  Range share_;
  std::uint64_t threads_;
  Passage passage_{};
  std::uint64_t most_blocks_ = 0;
  DeviceMemory<unsigned long long> wrong_{1};
  std::deque<Slot> slots_;  // never moved
};

using Workers = std::deque<Worker>;  // never moved

// The lines of progress, as in the article on GPU container instances.
void say_copying_in() { std::cout << "Copy input data from the host memory to the CUDA device" << std::endl; }
void say_launch(const Run &run, const Launch &launch, const Workers &workers) {
  std::cout << "CUDA kernel launch with " << run.blocks << " blocks of " << launch.threads << " threads";
  if (workers.size() > 1) {
    std::cout << " on each of " << workers.size() << " devices";
  }
  std::cout << std::endl;
}
void say_copying_out() { std::cout << "Copy output data from the CUDA device to the host memory" << std::endl; }

// The whole share of each device is there: copied in once, added `repeats` times, copied out once.
void run_whole(Workers &workers, std::span<const float> a, std::span<const float> b, const Launch &launch, Run &run) {
  const auto each = [&workers](const auto &work) {
    for (Worker &worker : workers) {
      worker.select_it();
      work(worker, worker.slot(0), worker.chunk(0));
    }
  };
  const auto copied = [&each](const char *what) {
    double longest = 0;
    each([&longest, what](Worker &, Slot &slot, Range) {
      slot.after_copy.wait(what);
      longest = std::max(longest, slot.after_copy.seconds_since(slot.before_copy));
    });
    return longest;
  };
  say_copying_in();
  each([&](Worker &worker, Slot &slot, Range chunk) { worker.copy_in(slot, chunk, a, b); });
  run.passages->to_device_seconds = copied("copying the vectors to the device");
  say_launch(run, launch, workers);
  for (std::uint64_t repeat = 0; repeat < launch.repeats; ++repeat) {
    double longest = 0;
    each([](Worker &worker, Slot &slot, Range chunk) { worker.add(slot, chunk); });
    each([&longest](Worker &, Slot &slot, Range) {
      slot.after_kernel.wait("running the kernel");
      longest = std::max(longest, slot.after_kernel.seconds_since(slot.before_kernel));
    });
    run.seconds.push_back(longest);
  }
  each([](Worker &worker, Slot &slot, Range chunk) { worker.verify(slot, chunk); });
  say_copying_out();
  each([&run](Worker &worker, Slot &slot, Range chunk) {
    worker.copy_out(slot, chunk, run.sum.data());
  });
  run.passages->from_device_seconds = copied("verifying and copying the result to the host");
}

// Every repeat takes all chunks through the devices: while one is added, others are on their way in and out.
void run_in_chunks(Workers &workers, std::span<const float> a, std::span<const float> b, const Launch &launch, Run &run) {
  std::cout << run.passages->chunks << " chunks of " << run.passages->chunk << " elements, " << run.passages->slots
            << " at a time on a device: copies and kernels overlap" << std::endl;
  say_copying_in();
  say_launch(run, launch, workers);
  say_copying_out();
  std::uint64_t rounds = 0;
  for (const Worker &worker : workers) {
    rounds = std::max(rounds, worker.passage().chunks);
  }
  for (std::uint64_t repeat = 0; repeat < launch.repeats; ++repeat) {
    const bool last = repeat + 1 == launch.repeats;
    std::vector<double> kernels(workers.size(), 0.0);
    const auto finish = [&kernels](std::size_t number, Slot &slot) {
      if (slot.under_way) {
        slot.after_copy.wait("running a chunk");
        kernels[number] += slot.after_kernel.seconds_since(slot.before_kernel);
        slot.under_way = false;
      }
    };
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t round = 0; round < rounds + slots_at_most; ++round) {
      for (std::size_t number = 0; number < workers.size(); ++number) {
        Worker &worker = workers[number];
        Slot &slot = worker.slot(round);
        worker.select_it();
        finish(number, slot);
        if (round < worker.passage().chunks) {
          const Range chunk = worker.chunk(round);
          worker.copy_in(slot, chunk, a, b);
          worker.add(slot, chunk);
          if (last) {
            worker.verify(slot, chunk);
          }
          worker.copy_out(slot, chunk, run.sum.data());
          slot.under_way = true;
        }
      }
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    run.passages->overlapped_seconds.push_back(elapsed.count());
    run.seconds.push_back(*std::max_element(kernels.begin(), kernels.end()));
  }
}

}  // namespace

CudaDevices find_cuda_devices(std::size_t requested) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    const std::string cause = std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
    return {{}, "", error == cudaSuccess ? "No CUDA device" : "No CUDA device: " + cause};
  }
  CudaDevices found;
  for (int index = 0; index < count && (requested == 0 || found.usable.size() < requested); ++index) {
    const std::string reason = refusal(index);
    if (reason.empty()) {
      cudaDeviceProp properties{};
      check(cudaGetDeviceProperties(&properties, index), "reading the properties of CUDA device " + std::to_string(index));
      found.usable.push_back({index, properties.name, properties.totalGlobalMem});
    } else {
      found.reason += (found.reason.empty() ? "" : "; ") + reason;
    }
  }
  if (found.reason.empty() && found.usable.size() < requested) {
    found.reason = "the driver has " + std::to_string(count) + (count == 1 ? " CUDA device" : " CUDA devices");
  }
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "reading the driver's version");
  found.driver = std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
  return found;
}

Run run_on_cuda(const std::vector<CudaDevice> &devices, std::span<const float> a, std::span<const float> b, const Launch &launch) {
  Run run;
  run.sum = unwritten_vector(a.size());
  run.passages = Passages{};
  Passages &passages = *run.passages;
  const std::span<const float> sum = run.sum;
  const Pinned pinned_a(a);
  const Pinned pinned_b(b);
  const Pinned pinned_sum(sum);
  passages.pinned = pinned_a.locked() && pinned_b.locked() && pinned_sum.locked();

  Workers workers;
  for (std::size_t part = 0; part < devices.size(); ++part) {
    const Range share = part_of(a.size(), part, devices.size(), share_grain);
    if (share.count != 0) {
      select(devices[part]);
      workers.emplace_back(devices[part], share, launch);
    }
  }
  for (const Worker &worker : workers) {
    passages.chunk = std::max(passages.chunk, worker.passage().chunk);
    passages.chunks += worker.passage().chunks;
    passages.slots = std::max(passages.slots, worker.passage().slots);
    run.blocks = std::max(run.blocks, worker.blocks());
  }
  if (passages.chunks == workers.size()) {
    run_whole(workers, a, b, launch, run);
  } else {
    run_in_chunks(workers, a, b, launch, run);
  }
  for (const Worker &worker : workers) {
    passages.mismatches += worker.mismatches();
  }
  return run;
}

}  // namespace vector_add
