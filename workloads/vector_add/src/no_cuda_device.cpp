// Replaces cuda_device.cu in a build without a CUDA compiler: reports that, and rejects every run.
#include "device.h"

namespace vector_add {

CudaDevices find_cuda_devices(std::size_t) { return {{}, "", "No CUDA compiler when this program was built"}; }

Run run_on_cuda(const std::vector<CudaDevice> &, std::span<const float>, std::span<const float>, const Launch &) {
  throw DeviceError(find_cuda_devices(1).reason);
}

}  // namespace vector_add
