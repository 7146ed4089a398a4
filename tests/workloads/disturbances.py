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
from tests.workloads.mnist_workers import LOST, Trainings, at_step, kill, same_arrays
from tests.workloads.workload_runs import MNIST, locked_python, write_data

SIZE, STEPS = 4, 60


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.workloads.disturbances")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=20190417)
    options = parser.parse_args()
    drawn = random.Random(options.seed)
    python = locked_python(MNIST)
    failed = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        data = write_data(folder / "data", train=400, test=40, side=12)
        trainings = Trainings(python)
        try:
            arguments = ("--data-dir", data, "--steps", str(STEPS), "--batch-size", "40", "--checkpoint-every", "10")
            trainings.succeed(trainings.group(folder / "undisturbed", SIZE, *arguments))
            for number in range(2 * options.times):
                began = time.monotonic()
                try:
                    said = disturb(trainings, folder, number, drawn, arguments)
                except AssertionError as error:  # one group of many; the others have a result all the same
                    failed, said = failed + 1, f"FAILED: {error}"
                print(f"{number + 1}: {said}; {time.monotonic() - began:.0f} s", flush=True)
        finally:
            trainings.stop()  # before their folder goes
    print(f"{2 * options.times - failed} of {2 * options.times} groups ended with the weights of an undisturbed one")
    return 1 if failed else 0


def disturb(trainings: Trainings, folder: Path, number: int, drawn: random.Random, arguments: tuple[str | Path, ...]) -> str:
    """Starts a group, kills one worker or, of odd numbers, all, starts it again, and says what came of it.

    Errors: AssertionError where it ends otherwise than it should.
    """
    run = folder / str(number)
    workers = trainings.group(run, SIZE, *arguments)
    step = drawn.randrange(0, STEPS - 10, 10)
    until(at_step(workers[0], step), f"step {step}")
    time.sleep(drawn.random() * 0.3)  # anywhere between two lines of the log
    everyone = number % 2 == 1
    victims = workers if everyone else [drawn.choice(workers)]
    kill([worker for worker in victims if worker.code is None])
    codes = [each.code for each in trainings.wait(workers)]
    again = trainings.succeed(trainings.group(run, SIZE, *arguments, "--resume"))
    resumed = again[0].report["resumed_from"]
    who = "all" if everyone else f"worker {workers.index(victims[0])}"
    said = f"{who} killed after step {step}: codes {codes}, resumed from {resumed}"
    for worker, code in zip(workers, codes, strict=True):
        # A worker that the end or the loss of another one reaches before the signal ends by itself. None has trained to the end
        # unless the group has.
        allowed = {LOST} | ({0} if resumed == STEPS else set()) | ({-9} if worker in victims else set())
        assert code in allowed, said
    checkpoints = [folder / name / "0" / "checkpoint.npz" for name in ("undisturbed", str(number))]
    assert same_arrays(trainings.python, *checkpoints), f"{said}, weights DIFFER"
    return f"{said}, weights the same"


if __name__ == "__main__":
    sys.exit(main())
