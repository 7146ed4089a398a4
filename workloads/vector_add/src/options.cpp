#include "options.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <system_error>

namespace vector_add {
namespace {

constexpr std::uint64_t most_threads = 1024;  // a CUDA block, compute capability 2.0 and later
// 2^41 less 1024: vectors of 8.8 TB, more than any memory holds, and far from where 64-bit arithmetic ends.
constexpr std::uint64_t most_elements = 2199023254528;
constexpr std::uint64_t most_repeats = 1000000;
constexpr std::uint64_t most_gpus = 64;

std::string quoted(std::string_view text) {
  std::string quoted_text = "'";
  quoted_text += text;
  return quoted_text += '\'';
}

// Digits, perhaps after a minus: what is then wrong with it is its size.
bool looks_like_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  return !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
}

// A whole number within `least` and `most`, or a problem that names option, value and range.
void read_number(std::string_view option, std::string_view text, std::uint64_t least, std::uint64_t most, std::uint64_t &into,
                 std::vector<std::string> &problems) {
  std::uint64_t value = 0;
  const char *end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && stopped == end && !text.empty();
  if (whole && value >= least && value <= most) {
    into = value;
    return;
  }
  std::ostringstream problem;
  problem << option << ": " << quoted(text);
  problem << (looks_like_number(text) ? " is out of range" : " is not a whole number") << "; allowed: " << least << " to " << most;
  problems.push_back(problem.str());
}

std::optional<Device> device_named(std::string_view text) {
  if (text == "auto") return Device::automatic;
  if (text == "cuda") return Device::cuda;
  if (text == "cpu") return Device::cpu;
  return std::nullopt;
}

void read_value(std::string_view option, std::string_view value, Parsed &parsed) {
  Options &options = parsed.options;
  if (option == "--elements") {
    read_number(option, value, 1, most_elements, options.elements, parsed.problems);
  } else if (option == "--threads") {
    read_number(option, value, 1, most_threads, options.threads, parsed.problems);
  } else if (option == "--repeats") {
    read_number(option, value, 1, most_repeats, options.repeats, parsed.problems);
  } else if (option == "--chunk") {
    read_number(option, value, 1, most_elements, options.chunk, parsed.problems);
  } else if (option == "--gpus" && value == "all") {
    options.gpus = 0;
  } else if (option == "--gpus") {
    read_number(option, value, 1, most_gpus, options.gpus, parsed.problems);
  } else if (const auto device = device_named(value)) {
    options.device = *device;
  } else {
    parsed.problems.push_back("--device: " + quoted(value) + " is not a device; allowed: auto, cuda, cpu");
  }
}

bool takes_value(std::string_view option) {
  return option == "--elements" || option == "--threads" || option == "--repeats" || option == "--chunk" || option == "--gpus" ||
         option == "--device";
}

void check_together(Parsed &parsed) {
  const Options &options = parsed.options;
  if (options.require_gpu && options.device == Device::cpu) {
    parsed.problems.push_back("--require-gpu, --device: 'cpu' can't be combined with --require-gpu; leave one of them out");
  }
  if (options.device == Device::cpu && (options.gpus != 1 || options.chunk != 0)) {
    parsed.problems.push_back("--device: 'cpu' can't be combined with --gpus or --chunk, which are for CUDA devices");
  }
}

}  // namespace

Parsed parse_options(const std::vector<std::string_view> &arguments) {
  Parsed parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const auto equals = argument.find('=');
    const std::string_view option = argument.substr(0, equals);
    if (argument == "--help" || argument == "-h") {
      parsed.options.help = true;
    } else if (argument == "--require-gpu") {
      parsed.options.require_gpu = true;
    } else if (!takes_value(option)) {
      parsed.problems.push_back(quoted(argument) + " is not an option; see --help");
    } else if (equals != argument.npos) {
      read_value(option, argument.substr(equals + 1), parsed);
    } else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--")) {
      read_value(option, arguments[++i], parsed);
    } else {
      parsed.problems.push_back(std::string(option) + ": a value is missing; see --help");
    }
  }
  check_together(parsed);
  return parsed;
}

std::string help_text() {
  const Options defaults;
  std::ostringstream text;
  text << "Adds two vectors and verifies every element.\n\n"
       << "  --elements N            length of the vectors, 1 to " << most_elements << " (default " << defaults.elements << ")\n"
       << "  --threads T             threads per block, 1 to " << most_threads << " (default " << defaults.threads << ")\n"
       << "  --repeats R             how often the kernel runs and is timed, 1 to " << most_repeats << " (default "
       << defaults.repeats << ")\n"
       << "  --gpus N|all            CUDA devices, each with its share; N of them are then required (default " << defaults.gpus << ")\n"
       << "  --chunk E               elements that are on a device at a time (default: all, or as many as its memory has room for)\n"
       << "  --device auto|cuda|cpu  auto takes the GPU where there is one (default auto)\n"
       << "  --require-gpu           end with code 3 where no GPU can be used\n"
       << "  --help                  this text\n\n"
       << "Exit code: 0 verified, 1 wrong result or failed device, 2 usage or not enough memory, 3 no GPU though required.\n"
       << "The last line of standard output is one JSON object.\n";
  return text.str();
}

}  // namespace vector_add
