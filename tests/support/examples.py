"""The number of examples of a property test: all of them in `make test ALL=1`, a quarter otherwise."""

import sys

import hypothesis
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers
from hypothesis.internal.intervalsets import IntervalSet

QUICK, THOROUGH = "quick", "thorough"
_HYPOTHESIS_DEFAULT = 100


def register_profiles() -> None:
    """`thorough` is taken with `--hypothesis-profile=thorough`; `quick` applies without."""
    # Hypothesis also draws literals that it finds in the source of all loaded modules: 60,000 of this project, unrelated to what
    # a test is about. Parsing takes each worker ten seconds in a new clone, and what is known to upset programs is drawn rarely.
    providers._get_local_constants = lambda: providers._local_constants
    # UTF-8 has every character but surrogates: asking it for each takes every worker of a new clone three seconds.
    of_codec = charmap.intervals_from_codec
    all_of_utf_8 = IntervalSet(((0, 0xD7FF), (0xE000, sys.maxunicode))), IntervalSet()
    charmap.intervals_from_codec = lambda name: all_of_utf_8 if name == "utf-8" else of_codec(name)
    # How long an example takes, also to generate, depends on what else the machine does.
    unhurried = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    hypothesis.settings.register_profile(THOROUGH, unhurried, max_examples=_HYPOTHESIS_DEFAULT)
    hypothesis.settings.register_profile(QUICK, unhurried, max_examples=_HYPOTHESIS_DEFAULT // 4)
    hypothesis.settings.load_profile(QUICK)


def examples(thorough: int, quick: int = 0) -> int:
    """For a test with a number of its own: `thorough`, or as small a part of it as the profile says, or `quick`."""
    of_profile = hypothesis.settings().max_examples
    return quick if quick and of_profile < _HYPOTHESIS_DEFAULT else max(1, thorough * of_profile // _HYPOTHESIS_DEFAULT)
