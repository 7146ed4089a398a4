"""Results of plans, deployments and stacks of pull requests as sections of a comment, with the end of the log."""

from azure_gpu_operations.exit_codes import OK, STALE_PLAN
from azure_gpu_operations.review.posting.untrusted import fenced

OWN_STACK = "stack"
DEPLOYMENT = "deploy-"  # and the stack's name
_MOST_LOG = 6_000  # characters


def of_plan(stack: str, commit: str, code: int, log: str, run_url: str) -> str:
    """`code`: with which `preview --save-plan` has ended."""
    if code == OK:
        return _with_log(f"Stack `{stack}`: planned, waiting for the approval of environment `{stack}`", commit, run_url, log)
    return _with_log(f"Stack `{stack}`: no plan, nothing was deployed", commit, run_url, log)


def of_deployment(stack: str, commit: str, code: int, log: str, run_url: str) -> str:
    """`code`: with which `up --plan` has ended."""
    ended = {
        OK: "deployed as planned",
        STALE_PLAN: "**not deployed**: its state has changed since the plan was made; run all jobs of the workflow again",
    }
    return _with_log(f"Stack `{stack}`: {ended.get(code, '**the deployment failed**')}", commit, run_url, log)


def of_own_stack(number: int, up: str, down: str, days: int, run_url: str) -> str:
    """`up`, `down`: the results of the jobs, as GitHub words them."""
    name = f"`pr-{number}`"
    if down == "success":
        return f"Stack {name} of this pull request is destroyed ([run]({run_url}))."
    if down != "skipped":
        return f"Stack {name} of this pull request: **not destroyed** ([run]({run_url})); the nightly `end` tries again."
    if up == "success":
        left = "a day" if days == 1 else f"{days} days"
        return f"Stack {name} of this pull request is deployed ([run]({run_url})): for {left}, or until this is closed."
    return f"Stack {name} of this pull request: **deployment failed** ([run]({run_url}))."


def _with_log(result: str, commit: str, run_url: str, log: str) -> str:
    shown = fenced(log, _MOST_LOG)
    return f"{result} (`{commit[:7]}`, [run]({run_url})).\n\n<details><summary>Its log</summary>\n\n{shown}\n\n</details>"
