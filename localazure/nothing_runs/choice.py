"""The option --nothing-runs of a state folder, and the variable by which programs that the engine starts learn it.

The first start of a folder decides it: what was declared while nothing ran has no process that a later server could resume, and
what ran before has processes that nobody would look after.
"""

from collections.abc import Mapping

from localazure.errors import CommandError
from localazure.folder import LocalFolder, write_whole
from localazure.weather.state import CALM, ROUGH

VARIABLE = "LOCAL_AZURE_NOTHING_RUNS"  # of the connection environment, read by the provider plugins
OPTION = "--nothing-runs"
_YES = "1"


def kept(folder: LocalFolder) -> bool:
    return folder.nothing_runs.exists()


def settle(folder: LocalFolder, weather: str | None, *, nothing_runs: bool) -> bool:
    """Keeps what a start says of weather, and whether nothing is to run; answers whether nothing runs. The weather of a server on
    which nothing runs is calm. CommandError where the folder has a server, or what one left, on which things run, or for rough
    weather."""
    still = kept(folder)
    if nothing_runs and not still and folder.database.exists():
        raise CommandError(
            f"{OPTION}: {folder.root} belongs to a server without {OPTION}; use another folder (--state), or remove this one"
        )
    if (nothing_runs or still) and weather == ROUGH:
        raise CommandError(f"--weather rough can't be combined with {OPTION}; remove one of the two")
    if nothing_runs and not still:
        write_whole(folder.nothing_runs, "")
        weather = CALM
    if weather is not None:
        write_whole(folder.weather, f"{weather}\n")
    return still or nothing_runs


def variables(folder: LocalFolder) -> dict[str, str]:
    """What the connection environment says of it. KUBECONFIG: nobody's own cluster is meant."""
    return {VARIABLE: _YES, "KUBECONFIG": str(folder.still_kubeconfig)} if kept(folder) else {}


def told(environment: Mapping[str, str]) -> bool:
    """Whether an environment says that nothing runs."""
    return environment.get(VARIABLE) == _YES
