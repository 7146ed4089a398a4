"""Starts Chromium for a test and drives it, by Playwright; checks pages with axe-core.

Playwright is in the environment only after `make browser`, and so it is imported when it is used.
"""

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.browser import installation

# No sandbox of its own, which root and many containers can't have: the pages are the project's. Nothing that calls home.
_OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync")


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium as Playwright's `Browser`. Skips the test where there is none."""
    with started() as driven:
        if driven is None:
            pytest.skip(f"no Chromium, or no Playwright: {installation.HOW}")
        yield driven


@contextmanager
def started() -> Iterator[Any]:
    """A Chromium as Playwright's `Browser`; None where there is none, or no Playwright."""
    chromium = installation.found()
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ModuleNotFoundError:
        playwright = None
    if chromium is None or playwright is None:
        yield None
        return
    environment = dict(os.environ)
    if chromium.libraries is not None:
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(
            filter(None, (str(chromium.libraries), environment.get("LD_LIBRARY_PATH")))
        )
    with playwright.sync_playwright() as driver:
        driven = driver.chromium.launch(executable_path=str(chromium.program), args=list(_OPTIONS), env=environment)
        try:
            yield driven
        finally:
            driven.close()


class Opened:
    """A page that is open, with what it wrote to the console and what it asked the network for."""

    def __init__(self, driven: Any, file: Path, fragment: str = "", **options: Any) -> None:
        self.context = driven.new_context(**options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.address = file.as_uri()
        self.page.goto(f"{self.address}{fragment}")

    def elsewhere(self) -> list[str]:
        """What it asked for beside the file itself."""
        return [each for each in self.asked if each.partition("#")[0] != self.address and not each.startswith("data:")]

    def violations(self) -> list[str]:
        """What axe-core finds wrong: `color-contrast: <span …>`."""
        axe = importlib.import_module("axe_playwright_python.sync_playwright").Axe()
        found = axe.run(self.page).response["violations"]
        return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]

    def close(self) -> None:
        self.context.close()
