"""Packages that are left out while TensorFlow is imported."""

import sys

import pytest

from workloads.mnist.mnist_training import unused_packages


def test_they_cannot_be_imported_in_the_block_and_can_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unused_packages, "_NAMES", ("colorsys",))
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with unused_packages.left_out(), pytest.raises(ImportError):
        import colorsys
    import colorsys

    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
