// Distribution of the elements, tested around every boundary: one thread of one chunk of one device visits each element, once.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "addition.h"
#include "data.h"
#include "shape.h"

namespace {

using namespace vector_add;
using u64 = std::uint64_t;

int failures = 0;

template <class... Words>
void expect(bool right, const Words &...words) {
  if (!right) {
    std::cerr << "FAILED";
    ((std::cerr << ' ' << words), ...);
    std::cerr << '\n';
    ++failures;
  }
}

// Numbers around each of these.
std::vector<u64> around(std::initializer_list<u64> borders, u64 reach) {
  std::set<u64> numbers;
  for (const u64 border : borders) {
    for (u64 number = border > reach ? border - reach : 0; number <= border + reach; ++number) {
      numbers.insert(number);
    }
  }
  return {numbers.begin(), numbers.end()};
}

// All threads together visit each element once, and four at a time only from 128-bit boundaries on.
void every_element_once(u64 elements, u64 threads, u64 past) {
  const Split split = split_of(elements, past, past, past);
  std::vector<unsigned char> visits(elements, 0);
  bool inside = true;
  bool on_border = true;
  const auto visited = [&](u64 i) {
    inside = inside && i < elements;
    if (i < elements) ++visits[i];
  };
  for (u64 thread = 0; thread < threads; ++thread) {
    visit(split, thread, threads, visited, [&](u64 i) {
      on_border = on_border && (i + past) % vector_width == 0;
      for (u64 j = i; j < i + vector_width; ++j) visited(j);
    });
  }
  const bool once = std::all_of(visits.begin(), visits.end(), [](unsigned char count) { return count == 1; });
  expect(once && inside && on_border, elements, "elements,", threads, "threads,", past, "past a border: once", once, "inside", inside,
         "on borders", on_border);
}

void test_every_element_once() {
  for (const u64 block : {1U, 7U, 32U, 256U, 1023U, 1024U}) {
    for (const u64 blocks : {1U, 2U, 5U}) {
      const u64 threads = block * blocks;
      // Around no element, one vector, one block, one sweep of elements, and one and two sweeps of vectors.
      for (const u64 elements : around({0, 4, block, threads, 4 * threads, 8 * threads}, 5)) {
        for (u64 past = 0; past < vector_width; ++past) {
          every_element_once(elements, threads, past);
        }
      }
    }
  }
}

// Additions with every alignment, equal or not, leave the memory beside the sum unchanged.
void test_addresses_anywhere() {
  constexpr float untouched = -7.0F;
  const auto numbers_a = random_vector(64, first_seed);
  const auto numbers_b = random_vector(64, second_seed);
  for (u64 past_a = 0; past_a < 4; ++past_a) {
    for (u64 past_b = 0; past_b < 4; ++past_b) {
      for (u64 past_sum = 0; past_sum < 4; ++past_sum) {
        for (u64 elements = 0; elements <= 21; ++elements) {
          HostVector sum(64);
          std::fill_n(sum.data(), 64, untouched);
          const float *a = numbers_a.data() + past_a;
          const float *b = numbers_b.data() + past_b;
          for (u64 thread = 0; thread < 3; ++thread) {
            add_share(a, b, sum.data() + past_sum, elements, thread, 3);
          }
          bool right = true;
          for (u64 i = 0; i < 64; ++i) {
            const bool added = i >= past_sum && i < past_sum + elements;
            const u64 j = i - past_sum;
            right = right && (added ? is_right(a[j], b[j], sum.data()[i]) : sum.data()[i] == untouched);
          }
          expect(right, "addresses past a border by", past_a, past_b, past_sum, "and", elements, "elements");
        }
      }
    }
  }
}

// What can't be counted element by element. A thread's steps are thread, thread + threads, ...: that each of some threads takes all
// of its steps up to the end, and all take as many as there are vectors, leaves none out.
void test_sizes_beyond_32_bits() {
  constexpr u64 four_gi = u64{1} << 32U;
  const u64 most_elements = 2199023254528;
  for (const u64 elements : around({four_gi, 4 * four_gi, most_elements - 5}, 5)) {
    for (const u64 threads : {u64{1056} * 4 * 256, u64{1023} * 1023, u64{1} << 33U}) {
      for (u64 past = 0; past < vector_width; ++past) {
        const Split split = split_of(elements, past, past, past);
        expect(split.head + vector_width * split.vectors + split.tail == elements, "split of", elements);
        expect(split.head < vector_width && split.tail < vector_width, "head or tail of", elements);
        for (const u64 thread : {u64{0}, u64{1}, threads / 2, threads - 1}) {
          u64 steps = 0;
          u64 last = 0;
          bool apart = true;
          visit(
              split, thread, threads, [&](u64 i) { apart = apart && (i < split.head || i >= elements - split.tail); },
              [&](u64 i) {
                apart = apart && i == split.head + vector_width * (thread + steps * threads);
                last = i;
                ++steps;
              });
          const u64 right = split.vectors > thread ? divided_up(split.vectors - thread, threads) : 0;
          expect(apart && steps == right, elements, "elements, thread", thread, "of", threads, ":", steps, "steps,", right, "are right");
          expect(steps == 0 || last + vector_width <= elements, "thread", thread, "goes past", elements, "to", last);
        }
      }
    }
  }
}

// Shares of devices and chunks of shares follow each other without a gap, and begin on 128-bit boundaries.
void test_shares_and_chunks() {
  constexpr u64 four_gi = u64{1} << 32U;
  for (const u64 elements : around({1, share_grain, 8 * share_grain, 50000, four_gi, 2199023254520}, 4)) {
    for (const u64 parts : {1U, 2U, 3U, 4U, 7U, 8U, 64U}) {
      u64 next = 0;
      u64 longest = 0;
      u64 shortest = elements;
      for (u64 part = 0; part < parts; ++part) {
        const Range share = part_of(elements, part, parts, share_grain);
        expect(share.first == next && (share.count == 0 || share.first % vector_width == 0), "share", part, "of", parts, "of", elements);
        next = share.first + share.count;
        longest = std::max(longest, share.count);
        shortest = std::min(shortest, share.count);
      }
      expect(next == elements, parts, "shares end at", next, "of", elements);
      expect(longest - shortest <= 2 * share_grain, parts, "shares of", elements, "differ by", longest - shortest);
      const Range share = part_of(elements, parts - 1, parts, share_grain);
      for (const u64 chunk : {u64{4}, share_grain, largest_chunk}) {
        const u64 chunks = divided_up(share.count, chunk);
        if (chunks == 0 || chunks > 100000) continue;
        u64 from = share.first;
        for (u64 number = 0; number < chunks; ++number) {
          const Range piece = chunk_of(share, number, chunk);
          expect(piece.first == from && piece.count > 0 && piece.count <= chunk, "chunk", number, "of", chunks, "of", elements);
          from = piece.first + piece.count;
        }
        expect(from == share.first + share.count, "chunks end at", from);
      }
    }
  }
}

void test_blocks() {
  expect(blocks_for(50000, 256, 1024) == 196, "the article's launch");
  expect(blocks_for(u64{1} << 32U, 256, 4224) == 4224, "a grid that is full");
  for (const u64 threads : {1U, 31U, 256U, 1024U}) {
    for (const u64 elements : around({threads, 2 * threads, 1024 * threads}, 3)) {
      if (elements == 0) continue;
      const u64 blocks = blocks_for(elements, threads, 1024);
      expect(blocks == 1024 || (blocks * threads >= elements && (blocks - 1) * threads < elements), "blocks for", elements);
    }
  }
  expect(most_blocks_on(132 * 8) == 4224 && most_blocks_on(26) == 1024, "the most blocks");
}

// What is on a device at a time never exceeds its memory, and is as much as it may be.
void test_passages() {
  constexpr u64 gib = u64{1} << 30U;
  const auto is = [](Passage passage, u64 chunk, u64 chunks, u64 slots) {
    return passage.chunk == chunk && passage.chunks == chunks && passage.slots == slots;
  };
  expect(is(passage_of(50000, 16 * gib, 0), 50000, 1, 1), "what fits is whole");
  expect(is(passage_of(u64{1} << 32U, 80 * gib, 0), u64{1} << 32U, 1, 1), "2^32 elements on 80 GiB");
  expect(is(passage_of(u64{1} << 32U, 40 * gib, 0), largest_chunk, 64, 3), "2^32 elements on 40 GiB");
  expect(is(passage_of(50000, 1000, 0), 0, 0, 0), "no room for a chunk");
  expect(is(passage_of(1000, 16 * gib, 300), 300, 4, 3), "requested chunks");
  expect(is(passage_of(500, 16 * gib, 300), 300, 2, 2), "two chunks have two slots");
  expect(is(passage_of(1000, 16 * gib, 1000), 1000, 1, 1), "a chunk of all");
  expect(is(passage_of(1000, 16 * gib, gib), 1000, 1, 1), "a chunk larger than all takes no more than all");
  expect(is(passage_of(1000, 40000, gib), 1000, 1, 1), "a chunk larger than all on a small device");
  expect(is(passage_of(u64{1} << 32U, gib, gib), 0, 0, 0), "a requested chunk that does not fit");
  for (const u64 free : around({0, 1 << 20, 3 * 12 * (1 << 16), 100 << 20, gib}, 40)) {
    for (const u64 elements : {u64{50000}, u64{1} << 20U, (u64{1} << 32U) + 3}) {
      const Passage passage = passage_of(elements, free, 0);
      expect(passage.slots * passage.chunk * three_vectors <= free, "too much for", free);
      expect(passage.chunk == 0 || passage.chunks == divided_up(elements, passage.chunk), "chunks of", elements, "on", free);
      expect(passage.chunks < 2 || passage.chunk % vector_width == 0, "chunks off a border on", free);
    }
  }
}

// The same on every machine: these were computed by hand from the published finalizer, in Python.
void test_numbers() {
  expect(random_element(0U, first_seed) * 16777216.0F == 5370485.0F, "element 0 of first_seed");
  expect(random_element(1U, first_seed) * 16777216.0F == 7415482.0F, "element 1 of first_seed");
  expect(random_element(4294967303U, first_seed) * 16777216.0F == 166112.0F, "element 4294967303 of first_seed");
  expect(random_element(0U, second_seed) * 16777216.0F == 5221858.0F, "element 0 of second_seed");
  const auto numbers = random_vector(100000, first_seed);
  const float *begin = numbers.data();
  const float *end = begin + numbers.size();
  expect(*std::min_element(begin, end) >= 0.0F && *std::max_element(begin, end) < 1.0F, "numbers beyond [0, 1)");
  const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(numbers.size());
  expect(mean > 0.495 && mean < 0.505, "the numbers' mean is", mean);
}

}  // namespace

int main() {
  test_every_element_once();
  test_addresses_anywhere();
  test_sizes_beyond_32_bits();
  test_shares_and_chunks();
  test_blocks();
  test_passages();
  test_numbers();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
