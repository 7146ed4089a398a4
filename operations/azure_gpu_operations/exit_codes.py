"""The exit codes of all commands. Scripts and CI rely on them."""

OK = 0
FAILED = 1  # what was requested failed; standard error has the reason in one line
WRONG_COMMAND_LINE = 2  # the command line is wrong, or the stack can't take it: nothing was started or changed
NO_GPU = 3  # `prove --require-gpu`: no GPU was seen
DRIFTED = 3  # `preview --drift`: Azure differs from the state
PAST_LEFT = 3  # `end --past`: something lies past its end and is still there
NOT_EXPLAINED = 3  # `explain`: something failed, and the reason isn't known
STALE_PLAN = 4  # `up --plan`: the stack's state has moved on since the plan was made; nothing was changed
FOUND = 5  # `review --fail-on`: the report has what the option names

# `run`, and what follows a run, have the program's own exit code otherwise.
TIMED_OUT = 124  # stopped after --timeout, as `timeout` has it
FAILED_RUN = 125  # the run failed and not its program, as `docker run` has it
INTERRUPTED = 130  # stopped by Ctrl-C, as a shell has it
