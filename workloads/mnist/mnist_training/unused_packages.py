"""Packages that Keras imports where they are installed, and that nothing here uses through it.

Importing TensorFlow imports Keras, whose wrappers import scikit-learn with SciPy, and whose galleries import Matplotlib. In this
image's environment that takes 4.8 s of CPU time, and 2.9 s without them (medians of four). Keras does without what it can't
import.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = ("matplotlib", "scipy", "sklearn")


@contextmanager
def left_out() -> Iterator[None]:
    """Imports in the block raise ImportError for those packages that aren't imported yet; imports after it find them."""
    absent = [name for name in _NAMES if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # how Python marks a module that can't be imported
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
