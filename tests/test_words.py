"""Messages and help texts are plain English: phrases that a reader has to decipher are kept out.

What is read: every problem of the error cases, every warning of the happy ones, and the help of every command. Each phrase below
was in this project's messages once; beside it stands what the field writes.
"""

import argparse
import re
from collections.abc import Iterator

from azure_gpu_operations import verbs
from tests.components import recorded_bodies

INSTEAD = {
    r"\b(is|are|was|were|isn't|aren't|nothing|none) said\b": "set, configured",
    r"\b(this|it|that|these|which) (is|are) no (?!longer|more)": "isn't a valid …",
    r"\bnobody\b": "what is the case, as a positive sentence",
    r"\bone's own\b": "a custom …, your own",
    r"\b(is|are) wanted\b": "expected",
    r"\bstands? on\b": "requires, depends on",
    r"\bat your word\b": "on Ctrl-C, on request",
    r"\b(knows?|writes?|says?|means?|makes?) no\b": "doesn't …",
    r"\b(whoever|whatever|wherever)\b": "the person, what, where",
    r"(?<!let )\balone\b": "only",
    r"\bso (many|long)\b(?! as)": "the number",
    r"\b(a|the|no) way (in|into|out|to)\b": "access, an outbound route, a method",
    r"\bnot ended well\b": "failed",
}


def texts() -> Iterator[str]:
    """Every problem and every warning that is recorded."""
    for body in recorded_bodies.recorded().values():
        yield from (problem["text"] for problem in body.get("problems", ()))
        yield from body.get("log", ())


def indecipherable(text: str) -> list[str]:
    found = [(re.search(phrase, text), instead) for phrase, instead in INSTEAD.items()]
    return [f"{match.group()!r} -> {instead}: {text}" for match, instead in found if match]


def given_removed(text: str) -> str:
    """A message without what the user wrote, and without quoted names and sources."""
    return re.sub(r"given: .*?(?=; (allowed|fix|source): |$)|source: .*$|`[^`]*`|'[^']*'", "", text)


def test_a_message_has_no_phrase_to_decipher() -> None:
    assert [each for text in texts() for each in indecipherable(given_removed(text))] == []


def helps() -> Iterator[str]:
    for name in verbs.VERBS:
        parser = argparse.ArgumentParser(prog="operations")
        verbs.add_all(parser.add_subparsers(), name)
        waiting = [parser]
        while waiting:
            each = waiting.pop()
            yield each.format_help()
            for action in each._actions:
                if isinstance(action, argparse._SubParsersAction):
                    waiting += [made for key, made in action.choices.items() if each is not parser or key == name]


def test_help_has_no_phrase_to_decipher() -> None:
    read_once = {" ".join(text.split()): None for text in helps()}
    assert [each for text in read_once for each in indecipherable(text)] == []


def test_a_phrase_is_found() -> None:
    assert indecipherable("pools are in a Batch account, and none is said")
    assert not indecipherable("`pools` requires `batch_account`, which isn't set")
