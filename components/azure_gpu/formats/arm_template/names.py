"""The parameters or the variables of a template, each evaluated once, when it is first used.

Values that need each other in a circle are a problem that names the circle."""

import difflib
from collections.abc import Callable, Mapping

from azure_gpu.formats.arm_template.values import RefusedError, UnresolvedError, Value

Made = tuple[Value, bool]  # the value, and whether a secret is in it


class Names:
    """`makers` by name as written; names are compared without regard to letter case."""

    def __init__(self, what: str, makers: Mapping[str, Callable[[], Made]]) -> None:
        self._what = what  # "parameter" or "variable"
        self._makers = {name.lower(): (name, make) for name, make in makers.items()}
        self._made: dict[str, Made | None] = {}
        self._under_way: list[str] = []

    def add(self, makers: Mapping[str, Callable[[], Made]]) -> None:
        self._makers |= {name.lower(): (name, make) for name, make in makers.items()}

    def value(self, name: str) -> Made:
        """UnresolvedError where its evaluation has failed before, RefusedError where there is none of the name."""
        key = name.lower()
        if key not in self._makers:
            near = difflib.get_close_matches(key, self._makers, n=1, cutoff=0.75)
            raise RefusedError(
                f"the template has no {self._what} '{name}'", f"is '{self._makers[near[0]][0]}' meant?" if near else ""
            )
        if key in self._under_way:
            circle = [*self._under_way[self._under_way.index(key) :], key]
            raise RefusedError(
                f"the {self._what}s {' → '.join(self._makers[each][0] for each in circle)} need each other in a circle"
            )
        if key not in self._made:
            self._make(key)
        made = self._made[key]
        if made is None:
            raise UnresolvedError
        return made

    def values(self) -> dict[str, Made]:
        """Those that have a value, all of them evaluated."""
        made: dict[str, Made] = {}
        for name, _ in self._makers.values():
            try:
                made[name] = self.value(name)
            except UnresolvedError:
                continue
        return made

    def _make(self, key: str) -> None:
        self._under_way.append(key)
        try:
            self._made[key] = self._makers[key][1]()
        except UnresolvedError:
            self._made[key] = None
        finally:
            self._under_way.pop()
