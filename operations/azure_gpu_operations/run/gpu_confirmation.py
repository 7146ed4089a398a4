"""Whether a GPU is there, said in the lines by which the second source document lets one see it; or plainly that none is.

In: what nvidia-smi answered, or why it didn't. Out: lines. `SHELL` has a shell on another machine tell the same in lines that
begin with `MARK`, which whoever follows its output takes out with `pass_on`. Pure.
"""

from collections.abc import Callable, Iterator

from azure_gpu.catalog.services.machines import smi

MARK = "azure-gpu: "
_GPU, _NONE = f"{MARK}gpu ", f"{MARK}none "
# One line a GPU, or one that says why there is none; $gpus is yes or no afterwards.
SHELL = f"""\
if said=$(nvidia-smi {smi.ARGUMENTS} 2>&1) && [ -n "$said" ]; then
  gpus=yes
  printf '%s\\n' "$said" | while IFS= read -r line; do printf '{_GPU}%s\\n' "$line" >&2; done
else
  gpus=no
  printf '{_NONE}%s\\n' "$(printf '%s' "$said" | tail -n 1)" >&2
fi"""


def pass_on(line: str, show: Callable[[str], None], say: Callable[[str], None]) -> None:
    """Shows a line of a shell's output that is the program's own, and says what else is in it for people."""
    told = said(line)
    if told is None:
        show(line)
        return
    for each in told:
        say(each)


def said(line: str) -> list[str] | None:
    """The lines for people in a line of a shell's output; None: it is the program's own."""
    if line.startswith(_GPU):
        return list(of_answer(line.removeprefix(_GPU)))
    if line.startswith(_NONE):
        return [none(line.removeprefix(_NONE))]
    return [] if line.startswith(MARK) else None


def of_answer(answer: str) -> Iterator[str]:
    """Of nvidia-smi's answer to `smi.ARGUMENTS`."""
    for gpu in smi.gpus(answer):
        yield from gpu.lines


def none(why: str) -> str:
    told = why.strip()
    if "not found" in told or not told:
        told = "nvidia-smi isn't there"
    return f"no GPU is seen ({told}): it runs on the CPU"
