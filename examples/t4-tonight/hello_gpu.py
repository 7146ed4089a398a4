"""Says which GPU it runs on, multiplies matrices, and says so: a first script for a GPU job. Put your own in its place.

The last line is one JSON object. Exit codes: 0 the product is right, 1 it isn't, 3 there is no GPU though --require-gpu was
given.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time

import numpy as np


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=512, help="rows of the matrices")
    parser.add_argument("--require-gpu", action="store_true", help="fail where there is no GPU")
    options = parser.parse_args()

    gpu = find_gpu()
    print(f"hello from {gpu or 'a machine without a GPU'}", flush=True)
    if options.require_gpu and not gpu:
        return 3

    generator = np.random.default_rng(seed=1)
    matrix = generator.standard_normal((options.size, options.size))
    began = time.perf_counter()
    product = matrix @ np.linalg.inv(matrix)
    seconds = time.perf_counter() - began
    passed = bool(np.allclose(product, np.eye(options.size), atol=1e-6))
    print(f"a matrix of {options.size} rows times its inverse: {'right' if passed else 'WRONG'}, {seconds:.2f} s", flush=True)
    print(json.dumps({"workload": "hello_gpu", "gpu": gpu, "size": options.size, "passed": passed}))
    return 0 if passed else 1


def find_gpu() -> str:
    """The first GPU's name as its driver tells it; "" where there is none."""
    if shutil.which("nvidia-smi") is None:
        return ""
    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


if __name__ == "__main__":
    sys.exit(main())
