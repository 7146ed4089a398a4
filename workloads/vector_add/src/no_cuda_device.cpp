// Stands in for cuda_device.cu in a build without a CUDA compiler: it says so, and refuses to run.
#include "device.h"

namespace vector_add {

CudaDevice find_cuda_device() { return {false, "", "No CUDA compiler when this program was built"}; }

Run run_on_cuda(const std::vector<float> &, const std::vector<float> &, const Launch &) {
  throw DeviceError(find_cuda_device().reason);
}

}  // namespace vector_add
