"""Merges the `file` of a container group under its settings: the YAML of `az container create --file`, or a template.

Secrets are never read from the file: where the file has one, the stack file must set it. The file is read by a function that
tests can replace.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import container_group_file, container_group_settings
from azure_gpu.formats.arm_template import Scope
from azure_gpu.formats.container_group_file import GroupInFile
from azure_gpu.formats.container_group_settings import config_path
from azure_gpu.shared.context import Context
from azure_gpu.shared.files import Reader
from azure_gpu.shared.validation import check
from azure_gpu.shared.wording import a_secret, give_secret

Settings = Mapping[str, Any]

# Mutually exclusive keys: where the stack file sets one of a set, the file's others are dropped.
_ALTERNATIVES = (
    {"image", "workload"},
    {"command", "http"},
    {"empty_dir", "secret", "azure_file", "git_repo"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A group's settings, merged with its file."""

    settings: Settings
    file: str = ""
    problems: list[Problem] = field(default_factory=list[Problem])
    missing: tuple[str, ...] = ()  # paths of secrets that the file has and the stack file lacks
    found: bool = True  # False where the file has no group

    def together(self, found: Sequence[Problem], own: Settings, path: str) -> list[Problem]:
        """Combines all problems, without those that `missing` explains; problems of the file's values name the file. `own`: the
        settings of the stack file itself."""
        if not self.file:
            return list(found)
        here = set(_places(own, path))
        below = tuple(f"{secret}{step}" for secret in self.missing for step in ".[")
        combined: list[Problem] = []
        for problem in found:
            explained = problem.path in self.missing or problem.path.startswith(below)
            if problem.value is None and (explained or not self.found):
                continue
            from_file = problem.path not in here and problem.path.startswith(f"{path}.")
            combined.append(self.named(problem) if from_file and problem.value is not None else problem)
        return [*self.problems, *combined]

    def named(self, problem: Problem) -> Problem:
        return problem._replace(message=f"{problem.message}; the value is set in {self.file}")


def fill(own: Settings, expected: Any, path: str, context: Context, read: Reader) -> Filled:
    """Merges the settings at `path` with their file, if there is one. `expected`: the TypedDict of both."""
    if "file" not in own:
        return Filled(settings=own)
    group, problems = _group(own["file"], own, path, context, read)
    filled = Filled(settings=own, file=own["file"], problems=problems, found=group is not None)
    if group is None:
        return filled
    from_file, left, secrets = container_group_settings.settings_of(group)
    checked = check(from_file, expected, path)
    of_file = cast(dict[str, Any], checked.value or {})
    if "dns_label" in of_file:
        of_file.setdefault("dns_label_scope", "Unsecure")  # Azure's default for such a file
    here = set(_places(own, path))
    missing = tuple(secret for key in secrets if (secret := f"{path}.{key}") not in here)
    problems += [filled.named(problem) for problem in checked.problems]
    problems += [refused("group.left_out", group.at(one.path), fix=one.fix, left=one) for one in left]
    problems += [
        refused("group.secret_in_file", each, allowed=a_secret(each), fix=give_secret(each), group=group) for each in missing
    ]
    return replace(filled, settings=merged(of_file, own), missing=missing)


def _group(file: str, own: Settings, path: str, context: Context, read: Reader) -> tuple[GroupInFile | None, list[Problem]]:
    try:
        text = read(file)
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or an invalid path
        reason = getattr(error, "strerror", None) or ("it isn't UTF-8" if isinstance(error, UnicodeDecodeError) else str(error))
        return None, [refused("group.unreadable_file", f"{path}.file", file, reason=reason)]
    scope = Scope(
        subscription_id=context.subscription_id or None,
        tenant_id=None,
        resource_group=None,
        location=context.location,
        deployment=None,
    )
    groups, problems = container_group_file.read(text, file, own.get("file_parameters", {}), scope)
    if len(groups) > 1:
        groups = [group for group in groups if group.name == own.get("group_name")] or groups
    if len(groups) > 1:
        names = [group.name for group in groups]
        words = {"allowed": ", ".join(names), "names": names, "count": len(groups)}
        return None, [*problems, refused("group.several_in_file", f"{path}.file", file, **words)]
    return (groups[0] if groups else None), problems


def _places(value: Any, at: str) -> Iterator[str]:
    """The paths of a value and of all below it, such as `containers.web.environment` and `registries[0].password`."""
    yield at
    if isinstance(value, list):
        for index, each in enumerate(cast(list[Any], value)):
            yield from _places(each, f"{at}[{index}]")
    elif isinstance(value, Mapping):
        for key, each in cast(Mapping[str, Any], value).items():
            for place in {f"{at}.{key}", config_path(at, key)}:
                yield from _places(each, place)


def merged(below: Settings, above: Settings) -> dict[str, Any]:
    """Merges both key by key; `above` takes precedence. Lists are replaced, except registries for which only the password is
    set."""
    result = {
        key: value
        for key, value in below.items()
        if not any(key in alternatives and above.keys() & (alternatives - {key}) for alternatives in _ALTERNATIVES)
        or key in above
    }
    for key, value in above.items():
        under = result.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            result[key] = merged(cast(Settings, under), cast(Settings, value))
        elif key == "registries" and isinstance(under, list):
            result[key] = _registries(cast(list[Settings], under), cast(list[Settings], value))
        else:
            result[key] = value
    return result


def _registries(below: Sequence[Settings], above: Sequence[Settings]) -> list[Settings]:
    logins = [
        {**below[index], **login} if index < len(below) and "server" not in login else login for index, login in enumerate(above)
    ]
    return [*logins, *(below[len(above) :] if all("server" not in login for login in above) else [])]
