#include "report.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>

namespace vector_add {
namespace {

std::string json_string(const std::string &text) {
  std::string json = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      json += '\\';
      json += character;
    } else if (static_cast<unsigned char>(character) < 0x20) {
      char escape[7];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned int>(static_cast<unsigned char>(character)));
      json += escape;
    } else {
      json += character;
    }
  }
  return json + '"';
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// JSON for a bandwidth; null where nothing was measured, or faster than the clock can tell.
std::string gb_per_second(std::uint64_t elements, int vectors, std::optional<double> seconds) {
  if (!seconds || *seconds <= 0) {
    return "null";
  }
  std::ostringstream json;
  json << static_cast<double>(vectors) * sizeof(float) * static_cast<double>(elements) / *seconds / 1e9;
  return json.str();
}

}  // namespace

std::string report_line(const Options &options, const CudaDevices &devices, const Run &run, std::uint64_t mismatches) {
  const bool cuda = !devices.usable.empty();
  const double middle = median(run.seconds);
  std::ostringstream json;
  json << "{\"workload\": \"vector_add\", \"device\": " << (cuda ? "\"cuda\"" : "\"cpu\"")
       << ", \"device_name\": " << json_string(cuda ? devices.usable.front().name : cpu_name()) << ", \"device_memory_mib\": ";
  if (cuda) {
    json << (devices.usable.front().memory_bytes >> 20U);
  } else {
    json << "null";
  }
  json << ", \"cuda_driver\": " << (cuda ? json_string(devices.driver) : "null") << ", \"elements\": " << options.elements
       << ", \"threads\": " << options.threads << ", \"blocks\": " << run.blocks << ", \"repeats\": " << options.repeats
       << ", \"seconds\": {\"min\": " << *std::min_element(run.seconds.begin(), run.seconds.end()) << ", \"median\": " << middle
       << "}, \"bandwidth_gb_per_s\": " << gb_per_second(options.elements, 3, middle);
  if (run.passages) {
    const Passages &passages = *run.passages;
    const auto &overlapped = passages.overlapped_seconds;
    json << ", \"gpus\": " << devices.usable.size() << ", \"chunks\": " << passages.chunks << ", \"chunk\": " << passages.chunk
         << ", \"pinned\": " << (passages.pinned ? "true" : "false")
         << ", \"to_device_gb_per_s\": " << gb_per_second(options.elements, 2, passages.to_device_seconds)
         << ", \"from_device_gb_per_s\": " << gb_per_second(options.elements, 1, passages.from_device_seconds)
         << ", \"overlapped_gb_per_s\": "
         << gb_per_second(options.elements, 3, overlapped.empty() ? std::nullopt : std::optional(median(overlapped)))
         << ", \"mismatches_on_device\": " << passages.mismatches;
  }
  const bool passed = mismatches == 0 && (!run.passages || run.passages->mismatches == 0);
  json << ", \"mismatches\": " << mismatches << ", \"passed\": " << (passed ? "true" : "false") << "}";
  return json.str();
}

std::string failure_line(int exit_code, const std::vector<std::string> &problems) {
  std::ostringstream json;
  json << "{\"workload\": \"vector_add\", \"exit_code\": " << exit_code << ", \"problems\": [";
  for (std::size_t i = 0; i < problems.size(); ++i) {
    json << (i == 0 ? "" : ", ") << json_string(problems[i]);
  }
  json << "], \"passed\": false}";
  return json.str();
}

}  // namespace vector_add
