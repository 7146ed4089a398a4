"""`python -m tests.workloads.disturbances`: groups of four whose workers are killed at random, one of four and all of four,
many times.

    --times N   of each; default 10
    --seed N    what is killed, and after which step

Each group is started again with `--resume` until it ends by itself, and has to end with the weights of one that nobody
disturbed, bit by bit. Ends with exit code 1 where one doesn't.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.support.embedded import until
from tests.workloads.mnist_workers import LOST, SECONDS, Trainings, at_step, kill, same_arrays
from tests.workloads.workload_runs import MNIST, locked_python, write_data

SIZE, STEPS = 4, 60


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.workloads.disturbances")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=20190417)
    options = parser.parse_args()
    drawn = random.Random(options.seed)
    python = locked_python(MNIST)
    trainings = Trainings(python)
    failed = 0
    try:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            data = write_data(folder / "data", train=400, test=40, side=12)
            arguments = ("--data-dir", data, "--steps", str(STEPS), "--batch-size", "40", "--checkpoint-every", "10")
            trainings.succeed(trainings.group(folder / "undisturbed", SIZE, *arguments))
            for number in range(2 * options.times):
                everyone = number % 2 == 1
                began = time.monotonic()
                run = folder / str(number)
                workers = trainings.group(run, SIZE, *arguments)
                step = drawn.randrange(0, STEPS - 10, 10)
                until(at_step(workers[0], step), f"step {step}", SECONDS)
                time.sleep(drawn.random() * 0.3)  # anywhere between two lines of the log
                victims = workers if everyone else [drawn.choice(workers)]
                running = [worker for worker in victims if worker.code is None]
                kill(running)
                ended = trainings.wait(workers)
                codes = [each.code for each in ended]
                again = trainings.succeed(trainings.group(run, SIZE, *arguments, "--resume"))
                same = same_arrays(python, folder / "undisturbed" / "0" / "checkpoint.npz", run / "0" / "checkpoint.npz")
                expected = all(
                    code == (-9 if worker in running else LOST) for worker, code in zip(workers, codes, strict=True)
                ) or (not running and set(codes) == {0})
                failed += not (same and expected)
                who = "all" if everyone else f"worker {workers.index(victims[0])}"
                print(
                    f"{number + 1}: {who} killed after step {step}: codes "
                    f"{codes}, resumed from {again[0].report['resumed_from']}, weights {'the same' if same else 'DIFFER'}; "
                    f"{time.monotonic() - began:.0f} s",
                    flush=True,
                )
    finally:
        trainings.stop()
    print(f"{2 * options.times - failed} of {2 * options.times} groups ended with the weights of an undisturbed one")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
