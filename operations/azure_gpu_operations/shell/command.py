"""`python -m operations shell`: open a shell with the Azure CLI, so that a document's `az` commands run as they are written.

    shell                                 your shell, with `az` signed in to the cloud of the environment (ARM_*)
    shell --stack dev                     signed in to the cloud of that stack
    shell --stack dev -- az group list    one command instead; its exit code is returned

`az` and kubectl use separate configurations in the state folder: your `~/.azure` and `~/.kube` are neither read nor written. `az`
is signed in with the service principal of ARM_CLIENT_ID and ARM_CLIENT_SECRET; without a secret, an `az login` applies only to
that shell. With --stack, kubectl has a context for each cluster of the stack, under its name in the stack file, and uses the
identity of `az`; for other clusters run `az aks get-credentials`, then `kubelogin convert-kubeconfig -l azurecli`. The Azure CLI
is installed into the cache on first use, unless a recent one is on PATH; kubectl and kubelogin are those on PATH, else those
built by `make kubernetes`. Linux and macOS.

Exit codes: the command's or the shell's own; 1 no shell could be opened, 2 wrong command line, 127 command not found.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from azure_gpu.formats import stack_file
from azure_gpu_operations.connection import Connection, connection_from
from azure_gpu_operations.project import project
from azure_gpu_operations.shell import environment
from azure_gpu_operations.shell.environment import ShellError, cloud_of
from azure_gpu_operations.stack_options import WHERE, file_of, stack_of

STATE = ".local"
NO_SUCH_COMMAND = 127


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument("--stack", help="the stack's name (default: none; the environment selects the cloud)")
    parser.add_argument(
        "--config-folder",
        type=Path,
        help=f"{WHERE}, and where the configuration of `az` is kept (default: {STATE} in it)",
    )
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="run this instead of a shell")


def run(options: argparse.Namespace) -> int:
    try:
        if os.name != "posix":
            raise ShellError("only Linux and macOS are supported; use `az login` and `az` directly")
        if options.config_folder and not options.config_folder.is_dir():
            raise ShellError(f"folder {options.config_folder} not found")
        from azure_gpu_operations.shell import cli, kubectl  # here: they lock files as only those systems do

        found = connection_from(_configuration(options), os.environ)
        az = cli.folder_of_az(os.environ, _say)
        folder = environment.configuration_folder(_state(options), found)
        clients = kubectl.folder_of_kubectl(os.environ)
        shell = environment.variables(os.environ, folder, az, found, clients, _kubeconfig(options, folder))
        signed_in = cli.sign_in(shell, found, os.environ.get("ARM_CLIENT_SECRET", ""), _say)
    except (ShellError, stack_file.StackFileError, OSError) as error:
        _say(f"error: {error}")
        return 1
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words or not signed_in:
        _say(_where(found, signed_in))
    return _become(words or [os.environ.get("SHELL") or "/bin/sh"], shell)


def _state(options: argparse.Namespace) -> Path:
    """The folder of sign-ins. The project's own is created with a .gitignore."""
    if options.config_folder:
        return options.config_folder.resolve()
    state = project().files / STATE
    if not state.exists():
        state.mkdir(mode=0o700)
        (state / ".gitignore").write_text("*\n", encoding="ascii")
    return state


def _configuration(options: argparse.Namespace) -> dict[str, str]:
    """The configuration in the stack's file, which needs no call of the engine, unlike the state."""
    if options.stack is None:
        return {}
    file = file_of(options)
    if not file.exists():
        raise ShellError(f"{file} not found")
    return stack_file.configuration(file.read_text(encoding="utf-8"))


def _kubeconfig(options: argparse.Namespace, folder: Path) -> Path | None:
    """Kubeconfig of the stack's clusters; the engine is called only if the file declares some."""
    from azure_gpu_operations.shell import kubectl  # here, as in `run`

    if options.stack is None or not (stack := stack_of(options)).declares("clusters"):
        return None
    return kubectl.write_kubeconfig(stack, folder, _say)


def _where(found: Connection, signed_in: bool) -> str:
    cloud = cloud_of(found)
    where = cloud.endpoint or cloud.name
    if signed_in:
        return f"`az` is signed in to {where}, in this shell only; `exit` leaves it"
    tenant = f" --tenant {found.tenant_id}" if found.tenant_id else ""
    choose = f", then `az account set --subscription {found.subscription_id}`" if found.subscription_id else ""
    return (
        f"`az` is not signed in to {where}: ARM_CLIENT_SECRET isn't set; run `az login{tenant}`{choose}, which applies to this "
        "command's shells only; for a stack on the embedded Azure add --stack"
    )


def _become(words: Sequence[str], shell: dict[str, str]) -> int:
    """Replaces this process by the command, so that it gets the terminal's signals, and its exit code is returned."""
    sys.stdout.flush()
    try:
        os.execvpe(words[0], list(words), shell)  # noqa: S606
    except OSError as error:
        _say(f"error: {words[0]}: {error.strerror}")
        return NO_SUCH_COMMAND


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
