#!/bin/sh
# All checks that need a GPU, in one run of under 8 minutes: a build for the local GPU, the article's run,
# compute-sanitizer, 128-bit accesses in the machine code, 2^32 elements whole and in chunks, all GPUs, and the measurements.
#
# Requires a CUDA toolkit on PATH, or its compiler in CUDACXX; cmake 3.25; python3; for the largest size 52 GB free on host and
# GPU. Installs and downloads nothing. Prints a line per check; the checks' output is in build/check-gpu/, the measured
# figures in docs/results.md. Exit code: 0 everything passed, 1 something failed, 3 no GPU.
cd "$(dirname "$0")" || exit 1
add=build/vector_add
log=build/check-gpu
passed=0
failed=0
skipped=0
mkdir -p $log

# check SECONDS NAME COMMAND...: one check with a timeout.
check() {
  limit=$1
  name=$2
  shift 2
  begun=$(date +%s)
  timeout "$limit" "$@" > "$log/$name.txt" 2>&1
  code=$?
  if [ $code = 0 ]; then
    passed=$((passed + 1))
    echo "ok      $name, $(($(date +%s) - begun)) s"
  else
    failed=$((failed + 1))
    echo "FAILED  $name, exit code $code; the end of $log/$name.txt:"
    tail -n 5 "$log/$name.txt" | sed 's/^/        /'
  fi
}

skip() {
  skipped=$((skipped + 1))
  echo "skipped $1: $2"
}

if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
  echo "no GPU: the driver's device files are missing"
  exit 3
fi
check 180 build sh -c "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=native &&
  cmake --build build --parallel && test -x build/vector_add_bench"
[ $failed = 0 ] || exit 1
$add --require-gpu > $log/gpu.txt 2>&1
if [ $? = 3 ]; then
  tail -n 1 $log/gpu.txt
  exit 3
fi

check 30 host-tests ctest --test-dir build --output-on-failure
cat > $log/article.expected <<'LINES'
[Vector addition of 50000 elements]
Copy input data from the host memory to the CUDA device
CUDA kernel launch with 196 blocks of 256 threads
Copy output data from the CUDA device to the host memory
Test PASSED
Done
LINES
check 30 articles-lines sh -c "$add --require-gpu | head -n 6 | diff $log/article.expected -"

# Odd lengths, to test heads and tails too; once whole, once in chunks that reuse slots.
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck initcheck synccheck; do
    full=$([ $tool = memcheck ] && echo "--leak-check full")
    for options in "--elements 1000003" "--elements 1000003 --chunk 100001"; do
      # shellcheck disable=SC2086 # both are several words
      check 60 "$tool$(echo "$options" | tr -d ' ')" compute-sanitizer --tool $tool $full --error-exitcode 9 \
        $add --require-gpu --repeats 2 $options
    done
  done
else
  skip sanitizer "compute-sanitizer isn't on PATH; it comes with the CUDA toolkit"
fi
if command -v cuobjdump > /dev/null; then
  check 30 128-bit-accesses sh -c "cuobjdump -sass $add > $log/sass.txt && grep -q LDG.E.128 $log/sass.txt && grep -q STG.E.128 $log/sass.txt"
else
  skip 128-bit-accesses "cuobjdump isn't on PATH; it comes with the CUDA toolkit"
fi

check 120 2-to-the-32 $add --require-gpu --elements 4294967296 --repeats 5
check 120 2-to-the-32-and-3-in-chunks $add --require-gpu --elements 4294967299 --chunk 67108864 --repeats 3
check 60 all-gpus $add --require-gpu --gpus all --elements 100000007
for name in 2-to-the-32 2-to-the-32-and-3-in-chunks all-gpus; do
  tail -n 1 "$log/$name.txt"
done
check 120 measurements sh -c "cd ../.. && python3 -m tests.bench.vector_add --built"
cat $log/measurements.txt
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
