#include "options.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <system_error>

namespace vector_add {
namespace {

constexpr std::size_t most_threads = 1024;       // a CUDA block, compute capability 2.0 and later
constexpr std::size_t most_blocks = 2147483647;  // gridDim.x, compute capability 3.0 and later
constexpr std::size_t most_elements = most_threads * most_blocks;
constexpr std::size_t most_repeats = 1000000;

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
void read_number(std::string_view option, std::string_view text, std::size_t least, std::size_t most, std::size_t &into,
                 std::vector<std::string> &problems) {
  std::size_t value = 0;
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
  } else if (const auto device = device_named(value)) {
    options.device = *device;
  } else {
    parsed.problems.push_back("--device: " + quoted(value) + " is not a device; allowed: auto, cuda, cpu");
  }
}

bool takes_value(std::string_view option) {
  return option == "--elements" || option == "--threads" || option == "--repeats" || option == "--device";
}

void check_together(Parsed &parsed) {
  const Options &options = parsed.options;
  if (options.blocks() > most_blocks) {
    std::ostringstream problem;
    problem << "--elements, --threads: " << options.elements << " elements in blocks of " << options.threads << " threads need "
            << options.blocks() << " blocks; allowed: " << most_blocks << "; use fewer elements or more threads";
    parsed.problems.push_back(problem.str());
  }
  if (options.require_gpu && options.device == Device::cpu) {
    parsed.problems.push_back("--require-gpu, --device: 'cpu' can't be combined with --require-gpu; leave one of them out");
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
       << "  --device auto|cuda|cpu  auto takes the GPU where there is one (default auto)\n"
       << "  --require-gpu           end with code 3 where no GPU can be used\n"
       << "  --help                  this text\n\n"
       << "Exit code: 0 verified, 1 wrong result or failed device, 2 usage or not enough memory, 3 no GPU though required.\n"
       << "The last line of standard output is one JSON object.\n";
  return text.str();
}

}  // namespace vector_add
