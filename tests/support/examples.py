"""The number of examples of a property test: all of them in `make test ALL=1`, a quarter otherwise."""

import hypothesis
from hypothesis.internal.conjecture import providers

QUICK, THOROUGH = "quick", "thorough"
_HYPOTHESIS_DEFAULT = 100


def register_profiles() -> None:
    """`thorough` is taken with `--hypothesis-profile=thorough`; `quick` applies without."""
    # Hypothesis also draws literals that it finds in the source of all loaded modules: 60,000 of this project, unrelated to what
    # a test is about. Parsing takes each worker ten seconds in a new clone, and what is known to upset programs is drawn rarely.
    providers._get_local_constants = lambda: providers._local_constants
    # How long an example takes, also to generate, depends on what else the machine does.
    unhurried = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    hypothesis.settings.register_profile(THOROUGH, unhurried, max_examples=_HYPOTHESIS_DEFAULT)
    hypothesis.settings.register_profile(QUICK, unhurried, max_examples=_HYPOTHESIS_DEFAULT // 4)
    hypothesis.settings.load_profile(QUICK)


def examples(thorough: int) -> int:
    """For a test with a number of its own: `thorough`, or as small a part of it as the profile says."""
    return max(1, thorough * hypothesis.settings().max_examples // _HYPOTHESIS_DEFAULT)
