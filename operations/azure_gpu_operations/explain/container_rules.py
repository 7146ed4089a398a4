"""What went wrong in a container that was to run, or ran.

In: `Facts`, of which the containers count. Out: a `Finding` or None. Pure. Exit codes above 128 are a signal's number and 128,
as a shell counts; 126 and 127 are a command that can't be run and one that isn't there.
"""

from collections.abc import Callable, Iterator

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import phrases
from azure_gpu_operations.explain.facts import Cause, Container, Facts, Finding, Kind
from azure_gpu_operations.explain.refusal_rules import capacity_finding, of_image, quota_finding, volume_finding

KILLED = 137
ENDED_BY_TERM = 143
_NO_COMMAND = (126, 127)
_CLOSE = 0.97  # of the time that a job may take: it is stopped a little before or after


def pull(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        if container.began is None and phrases.first(phrases.IMAGE_PULL, texts):
            evidence = tuple(text for text in texts if phrases.IMAGE_PULL.search(text) or phrases.NO_PULL.search(text))
            return of_image(facts, container.image, evidence[-3:], container.name)
    return None


def place(facts: Facts) -> Finding | None:
    """A container that has no machine: it waits, or its time was over before it had one."""
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


def timeout(facts: Facts) -> Finding | None:
    """A job's replica that took longer than the job allows. The service kills it, with a signal's exit code."""
    said = phrases.first(phrases.TIMEOUT, (*facts.sentences, *(text for _, texts in _suspects(facts) for text in texts)))
    limit, ran = facts.timeout_seconds, facts.ran_seconds
    killed = (
        any(container.last_exit_code in (None, KILLED, ENDED_BY_TERM) for container in facts.containers) or not facts.containers
    )
    late = facts.state == "Failed" and limit > 0 and ran is not None and ran >= limit * _CLOSE and killed
    if facts.kind is not Kind.JOB or not (said or late):
        return None
    took = f"after {ran / 60:.1f} minutes" if ran is not None else "when its time was over"
    return Finding(
        Cause.TIMEOUT,
        f"it was ended {took}: the job allows a run {limit / 60:g} minutes",
        "give the job a longer `timeout_minutes`, or save what is done and go on from there",
        (said,) if said else (f"the run took {ran:.0f} of {limit} seconds",),
        _worst(facts),
    )


def probe(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        found = phrases.first(phrases.PROBE, texts)
        if found:
            return Finding(
                Cause.PROBE,
                f"the container {container.name} was ended because its liveness probe failed too often",
                "see that what the probe asks for is answered in its time; give it a longer initial_delay_seconds or a higher "
                "failure_threshold while the program loads",
                tuple(text for text in texts if "probe" in text.lower())[-3:],
                container.name,
            )
    return None


def memory(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        said = phrases.first(phrases.OUT_OF_MEMORY, texts)
        if said or container.last_exit_code == KILLED:
            had = f" It had {container.memory}." if container.memory else ""
            how = (
                "was killed because it used more memory than it has"
                if said
                else "was killed (exit code 137), most likely for its memory"
            )
            return Finding(
                Cause.OUT_OF_MEMORY,
                f"the container {container.name} {how}.{had}".rstrip("."),
                "give it more memory, or let it hold less at a time: smaller batches, fewer data loaders",
                (said,) if said else (f"exit code {container.last_exit_code}",),
                container.name,
            )
    return None


def gpu_memory(facts: Facts) -> Finding | None:
    for container, _ in _suspects(facts):
        said = phrases.first(phrases.GPU_MEMORY, container.log)
        if said:
            return Finding(
                Cause.OUT_OF_GPU_MEMORY,
                f"the program in container {container.name} asked for more memory than the GPU has",
                f"take a smaller batch or lower precision, or a GPU with more memory: {COMMAND} sizes --gpu-memory 80",
                (said.strip(),),
                container.name,
            )
    return None


def no_command(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        code = container.last_exit_code
        said = phrases.first(phrases.NO_COMMAND, (*texts, *container.log[-3:]))
        if code in _NO_COMMAND or phrases.first(phrases.NO_COMMAND, texts):
            missing = "isn't in the image" if code != _NO_COMMAND[0] else "can't be run: it isn't executable"
            return Finding(
                Cause.COMMAND_NOT_FOUND,
                f"the command of container {container.name} {missing}",
                "correct `command` (each word an item of the list), or leave it out to run what the image runs; for what a "
                'shell alone knows, such as &&, write ["/bin/sh", "-c", "..."]',
                (said,) if said else (f"exit code {code}",),
                container.name,
            )
    return None


def crash_loop(facts: Facts) -> Finding | None:
    for container, texts in _suspects(facts):
        said = phrases.first(phrases.CRASH_LOOP, texts)
        if said:
            code = container.last_exit_code
            how = "ends" if code is None else f"ends with exit code {code}"
            fix = "its last lines below say what is wrong with it; restart_policy Never or OnFailure ends the circle"
            if code == 0:
                fix = "a program that is done is no service: set restart_policy to OnFailure or Never"
            return Finding(
                Cause.CRASH_LOOP,
                f"the container {container.name} {how} and is started again and again ({container.restarts} times so far)",
                fix,
                (said,),
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
                "its last lines say why; what each exit code means is the program's own to say",
                texts[-1:],
                container.name,
            )
    return None


def _suspects(facts: Facts) -> Iterator[tuple[Container, tuple[str, ...]]]:
    """Containers that didn't end well, those first that run before the others, with what the service says of them.

    One that runs is left in peace unless it was ended before; one that ended well, always. An event of a run before the last one
    says nothing where the last one went well.
    """
    for container in sorted(facts.containers, key=lambda each: not each.is_init):
        ended_well = container.exit_code == 0 and facts.state in ("Succeeded", "Running")
        runs_well = container.state == "Running" and container.restarts == 0 and container.previous_exit_code in (None, 0)
        if not ended_well and not (runs_well and facts.state == "Running"):
            yield container, container.details


def _worst(facts: Facts) -> str:
    return next((container.name for container, _ in _suspects(facts)), "")


RULES: tuple[Callable[[Facts], Finding | None], ...] = (
    pull,
    place,
    volume,
    timeout,
    probe,
    no_command,
    gpu_memory,
    memory,
    crash_loop,
    program,
)
