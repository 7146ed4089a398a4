"""Rules for failures of containers. Pure.

Exit codes above 128 are a signal's number plus 128, as in a shell; 126 and 127 are a command that isn't executable, or missing.
"""

from collections.abc import Callable, Iterator

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import execution_rules, phrases
from azure_gpu_operations.explain.facts import KILLED, Cause, Container, Facts, Finding
from azure_gpu_operations.explain.refusal_rules import capacity_finding, of_image, quota_finding, volume_finding

_NO_COMMAND = (126, 127)


def pull(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        if container.began is None and phrases.first(phrases.IMAGE_PULL, texts):
            evidence = tuple(text for text in texts if phrases.IMAGE_PULL.search(text) or phrases.NO_PULL.search(text))
            return of_image(facts, container.image, evidence[-3:], container.name)
    return None


def place(facts: Facts) -> Finding | None:
    """A container without a machine: it waits, or reached its time limit before it had one."""
    for container, texts in _suspects(facts):
        if container.began is None:
            for pattern, finding in ((phrases.QUOTA, quota_finding), (phrases.NO_CAPACITY, capacity_finding)):
                found = phrases.first(pattern, texts)
                if found:
                    return finding(found, container.name)
    return None


def volume(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        found = phrases.first(phrases.VOLUME, texts)
        if found:
            return volume_finding((found,), container.name)
    return None


def probe(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        found = phrases.first(phrases.PROBE, texts)
        if found:
            return Finding(
                Cause.PROBE,
                f"the container {container.name} was stopped because its liveness probe failed too often",
                "check that the probed endpoint answers in time; set a longer initial_delay_seconds or a higher "
                "failure_threshold while the program loads",
                tuple(text for text in texts if "probe" in text.lower())[-3:],
                container.name,
            )
    return None


def memory(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        matched = phrases.first(phrases.OUT_OF_MEMORY, texts)
        if matched or container.last_exit_code == KILLED:
            had = f" It had {container.memory}." if container.memory else ""
            how = "was killed because it exceeded its memory" if matched else "was killed (exit code 137), probably out of memory"
            return Finding(
                Cause.OUT_OF_MEMORY,
                f"the container {container.name} {how}.{had}".rstrip("."),
                "give it more memory, or reduce its use: smaller batches, fewer data loaders",
                (matched,) if matched else (f"exit code {container.last_exit_code}",),
                container.name,
            )
    return None


def gpu_memory(facts: Facts) -> Finding | None:
    for container, _ in _suspects(facts):
        matched = phrases.first(phrases.GPU_MEMORY, container.log)
        if matched:
            return Finding(
                Cause.OUT_OF_GPU_MEMORY,
                f"the program in container {container.name} requested more memory than the GPU has",
                f"use a smaller batch, lower precision, or a GPU with more memory: {COMMAND} sizes --gpu-memory 80",
                (matched.strip(),),
                container.name,
            )
    return None


def no_command(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        code = container.last_exit_code
        matched = phrases.first(phrases.NO_COMMAND, (*texts, *container.log[-3:]))
        if code in _NO_COMMAND or phrases.first(phrases.NO_COMMAND, texts):
            missing = "isn't in the image" if code != _NO_COMMAND[0] else "isn't executable"
            return Finding(
                Cause.COMMAND_NOT_FOUND,
                f"the command of container {container.name} {missing}",
                "correct `command` (each word an item of the list), or omit it to run the image's default; for shell "
                'syntax such as && use ["/bin/sh", "-c", "..."]',
                (matched,) if matched else (f"exit code {code}",),
                container.name,
            )
    return None


def crash_loop(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        matched = phrases.first(phrases.CRASH_LOOP, texts)
        if matched:
            code = container.last_exit_code
            how = "ends" if code is None else f"ends with exit code {code}"
            fix = "see its last lines below; restart_policy Never or OnFailure stops the restarts"
            if code == 0:
                fix = "the program ends by itself: set restart_policy to OnFailure or Never"
            return Finding(
                Cause.CRASH_LOOP,
                f"the container {container.name} {how} and is restarted repeatedly ({container.restarts} times so far)",
                fix,
                (matched,),
                container.name,
            )
    return None


def program(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        code = container.last_exit_code
        if code not in (None, 0):
            return Finding(
                Cause.PROGRAM_ERROR,
                f"the program in container {container.name} ended with exit code {code}",
                "see its last lines; the program defines its exit codes",
                texts[-1:],
                container.name,
            )
    return None


def _suspects(facts: Facts) -> Iterator[tuple[Container, tuple[str, ...]]]:
    """Containers that may have failed, init containers first, with the service's messages about them.

    A running container counts only if it was restarted; one that succeeded never, whatever events earlier runs have.
    """
    for container in sorted(facts.containers, key=lambda each: not each.is_init):
        ended_well = container.exit_code == 0 and facts.state in ("Succeeded", "Running")
        runs_well = container.state == "Running" and container.restarts == 0 and container.previous_exit_code in (None, 0)
        if not ended_well and not (runs_well and facts.state == "Running"):
            yield container, container.details


RULES: tuple[Callable[[Facts], Finding | None], ...] = (
    pull,
    place,
    volume,
    *execution_rules.RULES,
    probe,
    no_command,
    gpu_memory,
    memory,
    crash_loop,
    program,
)
