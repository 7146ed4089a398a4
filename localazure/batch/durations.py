"""Durations as Batch writes them, such as `PT30M` or `P7D`."""

from azure_gpu.catalog.durations import length as parse

__all__ = ["UNLIMITED_DAYS", "parse"]

UNLIMITED_DAYS = 100_000  # longer than this isn't a limit: the service writes P10675199DT2H48M5.4775807S for none
