"""Which patch versions of Kubernetes AKS had, on days of which somebody wrote them down and on others."""

from datetime import date

import pytest

from azure_gpu.catalog.services.aks import kubernetes_patches


@pytest.mark.parametrize(
    ("minor", "day", "patch"),
    [
        ("1.34", date(2026, 11, 21), "1.34.3"),  # Azure/AKS pull request 5703
        ("1.33", date(2026, 4, 7), "1.33.7"),
        ("1.33", date(2026, 4, 6), "1.33.7"),  # the oldest that was seen later
        ("1.12", date(2019, 6, 11), "1.12.8"),  # microsoft/TailwindTraders-Backend pull request 35
        ("1.12", date(2019, 5, 2), "1.12.7"),
        ("1.36", date(2026, 11, 21), ""),
    ],
)
def test_the_newest_patch_that_was_seen_until_that_day(minor: str, day: date, patch: str) -> None:
    assert kubernetes_patches.patch(minor, day) == patch


@pytest.mark.parametrize(
    ("day", "version"),
    [
        (date(2019, 5, 2), "1.12.7"),
        (date(2020, 3, 20), "1.15.10"),
        (date(2026, 5, 1), "1.34.3"),
        (date(2026, 11, 21), "1.35"),  # no patch of it was seen
    ],
)
def test_the_default_is_the_newest_minor_version_but_one(day: date, version: str) -> None:
    assert kubernetes_patches.default_version(day) == version
