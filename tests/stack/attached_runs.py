"""What `logs` and `stop` have to do with a run that was left, whatever service has it."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.stack import ProgramStack

ENDS = "print('left alone', flush=True)\nraise SystemExit(5)\n"
LASTS = "import time\nprint('still here', flush=True)\ntime.sleep(600)\n"


def is_followed_and_stopped(stack: ProgramStack, folder: Path, *words: str, lasts: Callable[[], object] = lambda: None) -> None:
    """`words`: what `run` takes beside the script. `lasts` is called while the run goes on that is stopped."""
    script = folder / "left.py"

    def start(text: str) -> str:
        script.write_text(text)
        done = stack.operations("run", str(script), *words, "--detach")
        assert done.returncode == 0, done.stderr
        name = re.search(r"still running: (\S+);", done.stderr)
        assert name, done.stderr
        return name[1]

    ended = start(ENDS)
    shown = stack.operations("logs", ended)
    assert shown.returncode == 5, shown.stdout + shown.stderr
    assert "left alone\n" in shown.stdout
    assert "exit code 5" in shown.stderr
    assert f"why: python -m operations explain {ended} --stack {stack.name}" in shown.stderr

    lasting = start(LASTS)
    lasts()
    stopped = stack.operations("stop", lasting)
    assert stopped.returncode == 0, stopped.stderr
    _is_over(stack.operations, lasting)


COUNTS = """\
import pathlib, sys
words = pathlib.Path("texts/words.txt").read_text().split() + pathlib.Path("more.txt").read_text().split()
pathlib.Path("out/deep").mkdir(parents=True)
pathlib.Path("out/deep/count.txt").write_text(str(len(words)))
pathlib.Path("out/words.txt").write_text(" ".join(words))
print("counted", flush=True)
sys.exit(int(sys.argv[1]))
"""


def carries_files(stack: ProgramStack, folder: Path, *words: str) -> None:
    """Inputs are there, what the program leaves comes back also where it fails, and is fetched once more by its name."""
    script, texts, more, into = folder / "counts.py", folder / "texts", folder / "short", folder / "back"
    texts.mkdir()
    script.write_text(COUNTS)
    (texts / "words.txt").write_text("one two three")
    more.write_text("four")
    files = ("--input", str(texts), "--input", f"{more}=more.txt", "--output", "out")
    done = stack.operations("run", str(script), *words, *files, "--into", str(into), "--", "3")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "counted" in done.stdout
    assert f"fetched 2 files into {into}" in done.stderr
    assert (into / "out" / "words.txt").read_text() == "one two three four"
    name = next(line for line in done.stderr.splitlines() if "its files will be stored in" in line).split()[-1]
    again = folder / "again"
    fetched = stack.operations("logs", name, "--into", str(again))
    assert fetched.returncode == 0, fetched.stderr
    assert (again / "out" / "deep" / "count.txt").read_text() == "4"


def _is_over(operations: Callable[..., "subprocess.CompletedProcess[str]"], name: str) -> None:
    """One that was removed is no run any more; of one that is kept, `logs` ends at once and says that it didn't end well."""
    shown = operations("logs", name)
    assert shown.returncode in (2, 1, 125), shown.stdout + shown.stderr
    if shown.returncode == 2:
        assert "has no run of this name" in shown.stderr
    assert "Traceback" not in shown.stderr
