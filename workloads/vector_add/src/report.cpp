#include "report.h"

#include <algorithm>
#include <cstdio>
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

}  // namespace

std::string report_line(const Options &options, const Result &result) {
  const double middle = median(result.seconds);
  const double bytes = 3.0 * sizeof(float) * static_cast<double>(options.elements);
  std::ostringstream json;
  json << "{\"workload\": \"vector_add\", \"device\": " << json_string(result.device)
       << ", \"device_name\": " << json_string(result.device_name) << ", \"device_memory_mib\": ";
  if (result.device_memory_bytes > 0) {
    json << (result.device_memory_bytes >> 20);
  } else {
    json << "null";
  }
  json << ", \"cuda_driver\": " << (result.cuda_driver.empty() ? "null" : json_string(result.cuda_driver)) << ", \"elements\": " << options.elements
       << ", \"threads\": " << options.threads << ", \"blocks\": " << options.blocks() << ", \"repeats\": " << options.repeats
       << ", \"seconds\": {\"min\": " << *std::min_element(result.seconds.begin(), result.seconds.end())
       << ", \"median\": " << middle << "}, \"bandwidth_gb_per_s\": ";
  if (middle > 0) {
    json << bytes / middle / 1e9;
  } else {
    json << "null";  // faster than the clock can tell
  }
  json << ", \"mismatches\": " << result.mismatches << ", \"passed\": " << (result.mismatches == 0 ? "true" : "false") << "}";
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
