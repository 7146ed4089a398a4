"""Lines that confirm the visible GPUs, as in the second source document, or that there is none. Pure.

On another machine the shell code `SHELL` prints them after `MARK`; `pass_on` extracts them from the output.
"""

from collections.abc import Callable, Iterator

from azure_gpu.catalog.services.machines import smi

MARK = "azure-gpu: "
_GPU, _NONE = f"{MARK}gpu ", f"{MARK}none "
# One line per GPU, or one with the reason for none; sets $gpus to yes or no.
SHELL = f"""\
if answer=$(nvidia-smi {smi.ARGUMENTS} 2>&1) && [ -n "$answer" ]; then
  gpus=yes
  printf '%s\\n' "$answer" | while IFS= read -r line; do printf '{_GPU}%s\\n' "$line" >&2; done
else
  gpus=no
  printf '{_NONE}%s\\n' "$(printf '%s' "$answer" | tail -n 1)" >&2
fi"""


def pass_on(line: str, show: Callable[[str], None], say: Callable[[str], None]) -> None:
    """Shows a line of the program, or the message in a line of `SHELL`."""
    messages = messages_in(line)
    if messages is None:
        show(line)
        return
    for each in messages:
        say(each)


def messages_in(line: str) -> list[str] | None:
    """The messages in a line of `SHELL`; None for a line of the program."""
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
    reason = why.strip()
    if "not found" in reason or not reason:
        reason = "nvidia-smi not found"
    return f"no GPU found ({reason}): running on the CPU"
