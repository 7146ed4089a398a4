"""Commands of a workflow's last steps, for any Python 3.11 without installed packages:

    PYTHONPATH=operations python3 -m azure_gpu_operations.review.posting COMMAND

    review --run ID                                 post a review's artifact to the comment of its pull request
    planned --commit SHA --stack S --code N --file F    post a plan to the comment of the merged pull request
    deployed --commit SHA --stack S --code N --file F   post the result of the deployment there
    own-stack --pull N --up R --down R --days N     post the results of the jobs of a pull request's stack
    drift --stack S --code N --file F               open, update or close the issue of a stack
    download --run ID --artifact A --file F         download a file of an artifact of this run
    sign-in                                         sign in to Azure with this job's OpenID Connect token
    gitlab DIR, azure-devops DIR                    post a review to the note or the thread of a merge or pull request

Exit codes: 0 done, 1 the request failed, 2 the command line is invalid. Tokens and addresses come from the runner's variables.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from azure_gpu_operations.review.posting import azure_devops, github, gitlab, results, untrusted
from azure_gpu_operations.review.posting.api import Api, HostError
from azure_gpu_operations.review.posting.github import Repository
from azure_gpu_operations.review.posting.sign_in import sign_in

_HOSTS = {"gitlab": gitlab.post, "azure-devops": azure_devops.post}


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        print(_done(options, environment))
    except KeyError as error:
        print(f"error: {error.args[0]} isn't set; the runner or the workflow sets it", file=sys.stderr)
        return 1
    except (HostError, untrusted.UntrustedError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _done(options: argparse.Namespace, environment: Mapping[str, str]) -> str:
    if options.command == "sign-in":
        return sign_in(environment)
    if options.command in _HOSTS:
        text = untrusted.comment_of((options.folder / untrusted.COMMENT_FILE).read_text(encoding="utf-8"))
        return _HOSTS[options.command](environment, f"{untrusted.MARKER}\n{text}", untrusted.MARKER)
    repository = _repository(environment)
    if options.command == "review":
        return github.post_review(repository, options.run)
    if options.command == "download":
        text = github.download(repository, options.run, options.artifact, options.file.name)
        options.file.write_text(text, encoding="utf-8")
        return f"{options.file}, {len(text):,} characters"
    if options.command == "drift":
        output = options.file.read_text(encoding="utf-8", errors="replace")
        return github.report_drift(repository, options.stack, options.code, output, _run_url(environment))
    run = _run_url(environment)
    if options.command == "own-stack":
        text = results.of_own_stack(options.pull, options.up, options.down, options.days, run)
        github.put_section(repository, options.pull, results.OWN_STACK, text)
        return f"section {results.OWN_STACK} of #{options.pull}"
    worded = results.of_plan if options.command == "planned" else results.of_deployment
    log = options.file.read_text(encoding="utf-8", errors="replace")
    text = worded(options.stack, options.commit, options.code, log, run)
    return github.post_result(repository, options.commit, f"{results.DEPLOYMENT}{options.stack.lower()}", text)


def _repository(environment: Mapping[str, str]) -> Repository:
    signed_in = {"Authorization": f"Bearer {environment['GITHUB_TOKEN']}"}
    headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "azure-gpu"}
    return Repository(Api(environment["GITHUB_API_URL"], signed_in, headers), environment["GITHUB_REPOSITORY"])


def _run_url(environment: Mapping[str, str]) -> str:
    server, name, run = (environment[f"GITHUB_{each}"] for each in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    return f"{server}/{name}/actions/runs/{run}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="posting", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("sign-in")
    for name in _HOSTS:
        commands.add_parser(name).add_argument("folder", type=Path)
    commands.add_parser("review").add_argument("--run", type=int, required=True)
    command = commands.add_parser("download")
    command.add_argument("--run", type=int, required=True)
    command.add_argument("--artifact", required=True)
    command.add_argument("--file", type=Path, required=True)
    command = commands.add_parser("drift")
    command.add_argument("--stack", required=True)
    command.add_argument("--code", type=int, required=True)
    command.add_argument("--file", type=Path, required=True)
    for name in ("planned", "deployed"):
        command = commands.add_parser(name)
        command.add_argument("--commit", required=True)
        command.add_argument("--stack", required=True)
        command.add_argument("--code", type=int, required=True)
        command.add_argument("--file", type=Path, required=True)
    command = commands.add_parser("own-stack")
    command.add_argument("--pull", type=int, required=True)
    command.add_argument("--up", required=True)
    command.add_argument("--down", required=True)
    command.add_argument("--days", type=int, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
