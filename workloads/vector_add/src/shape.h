// Distribution of the elements: the shares of several GPUs, the chunks of a share, and the steps of a thread.
//
// Plain arithmetic on 64-bit numbers of elements, the same on the host and on the device; tests/shape_test.cpp tests it around
// every boundary. Nothing overflows up to `most_elements` of options.h.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define HOST_AND_DEVICE __host__ __device__
#else
#define HOST_AND_DEVICE
#endif

namespace vector_add {

// Elements of one 128-bit access, the widest that a thread makes.
constexpr std::uint64_t vector_width = 4;

// `count` elements from `first` on.
struct Range {
  std::uint64_t first;
  std::uint64_t count;
};

HOST_AND_DEVICE constexpr std::uint64_t divided_up(std::uint64_t dividend, std::uint64_t divisor) {
  return dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
}

HOST_AND_DEVICE constexpr std::uint64_t smaller(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

// Part `part` of `parts` that differ by `grain` elements at most. Parts begin at multiples of `grain`; the last ones may be empty.
constexpr Range part_of(std::uint64_t elements, std::uint64_t part, std::uint64_t parts, std::uint64_t grain) {
  const std::uint64_t grains = divided_up(elements, grain);
  const std::uint64_t each = grains / parts;
  const std::uint64_t longer = grains % parts;  // this number of first parts has one grain more
  const std::uint64_t first = smaller((each * part + smaller(part, longer)) * grain, elements);
  const std::uint64_t length = (each + (part < longer ? 1 : 0)) * grain;
  return {first, smaller(length, elements - first)};
}

// Chunk `chunk` of a range that is cut into chunks of `most` elements; only the last may be shorter.
constexpr Range chunk_of(Range range, std::uint64_t chunk, std::uint64_t most) {
  const std::uint64_t before = chunk * most;
  return {range.first + before, smaller(most, range.count - before)};
}

// How a range is added: `head` elements one by one until the addresses are on a 128-bit boundary, then whole vectors, then `tail`
// elements one by one.
struct Split {
  std::uint64_t head;
  std::uint64_t vectors;
  std::uint64_t tail;
};

// `past_a`, `past_b`, `past_sum`: how many elements each address lies past a 128-bit boundary, 0 to 3. Where they differ, no element
// is on a border in all three, and everything is a tail.
HOST_AND_DEVICE constexpr Split split_of(std::uint64_t elements, std::uint64_t past_a, std::uint64_t past_b, std::uint64_t past_sum) {
  if (past_a != past_b || past_a != past_sum) {
    return {0, 0, elements};
  }
  const std::uint64_t head = smaller((vector_width - past_a) % vector_width, elements);
  const std::uint64_t rest = elements - head;
  return {head, rest / vector_width, rest % vector_width};
}

// The grid-stride loop of thread `thread` of `threads`: calls `one(element)` and `four(first element)` for its share. All threads
// together visit each element once, whatever their number.
template <class One, class Four>
HOST_AND_DEVICE constexpr void visit(const Split &split, std::uint64_t thread, std::uint64_t threads, One one, Four four) {
  const std::uint64_t tail = split.head + vector_width * split.vectors;
  for (std::uint64_t vector = thread; vector < split.vectors; vector += threads) {
    four(split.head + vector_width * vector);
  }
  for (std::uint64_t i = thread; i < split.head; i += threads) {
    one(i);
  }
  for (std::uint64_t i = thread; i < split.tail; i += threads) {
    one(tail + i);
  }
}

// Blocks of a launch: a thread for each element as long as that is at most `most` blocks; beyond, each thread takes several.
constexpr std::uint64_t blocks_for(std::uint64_t elements, std::uint64_t threads, std::uint64_t most) {
  return smaller(divided_up(elements, threads), most);
}

// The maximum of blocks on a device that holds `resident` of them at a time: several per resident block, so that the device stays
// occupied while the last ones end. A small grid costs nothing, so a small device gets 1024 too.
constexpr std::uint64_t most_blocks_on(std::uint64_t resident) {
  constexpr std::uint64_t per_resident = 4;
  constexpr std::uint64_t small_grid = 1024;
  return resident * per_resident > small_grid ? resident * per_resident : small_grid;
}

// How a share goes through a device: `chunks` of `chunk` elements, `slots` of them there at a time, each with three vectors.
struct Passage {
  std::uint64_t chunk;   // 0 where the device has too little memory for any
  std::uint64_t chunks;
  std::uint64_t slots;
};

constexpr std::uint64_t share_grain = 1024;                       // elements: the shares of devices begin on a page
constexpr std::uint64_t three_vectors = 3 * sizeof(float);        // bytes that an element takes on a device
constexpr std::uint64_t largest_chunk = std::uint64_t{1} << 26U;  // 256 MiB of each vector: long enough for full speed of a copy
constexpr std::uint64_t smallest_chunk = std::uint64_t{1} << 16U;
constexpr std::uint64_t slots_at_most = 3;  // one that is copied in, one that is added, one that is copied out

// In one piece where it fits into the memory and no shorter chunks are requested (`requested` is 0, or at least `elements`), else in
// chunks that fit.
constexpr Passage passage_of(std::uint64_t elements, std::uint64_t free_bytes, std::uint64_t requested) {
  const std::uint64_t usable = free_bytes - free_bytes / 32;  // the driver allots in pages and keeps some for itself
  const std::uint64_t room = usable / three_vectors;
  if ((requested == 0 || requested >= elements) && elements <= room) {
    return {elements, 1, 1};
  }
  const std::uint64_t fitting = smaller(room / slots_at_most / vector_width * vector_width, largest_chunk);
  const std::uint64_t chunk = requested != 0 ? requested : fitting;
  if (chunk > room / slots_at_most || (requested == 0 && chunk < smallest_chunk)) {
    return {0, 0, 0};
  }
  const std::uint64_t chunks = divided_up(elements, chunk);
  return {chunk, chunks, smaller(chunks, slots_at_most)};
}

}  // namespace vector_add
