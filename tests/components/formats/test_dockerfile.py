"""Dockerfiles: every instruction that is read, with its line, and what is said about the rest."""

from hypothesis import given, strategies as st

from azure_gpu.formats.dockerfile import Arg, Cmd, Copy, Entrypoint, Env, From, Instruction, Note, Run, Workdir, parse, substitute
from tests.support.rows import each_row
from tests.support.tables import of_table


def instructions(text: str) -> list[Instruction]:
    dockerfile, problems = parse("FROM scratch\n" + text)
    assert problems == []
    return list(dockerfile.stages[-1].instructions)


def test_stages_and_the_arguments_before_them() -> None:
    text = "# syntax=x\nARG V=3.11\nARG W\n\nFROM --platform=linux/amd64 python:$V AS Build\nRUN make\nFROM build\n"
    dockerfile, problems = parse(text)
    assert problems == []
    assert dockerfile.arguments == (Arg(2, "V", "3.11"), Arg(3, "W", None))
    assert [stage.start for stage in dockerfile.stages] == [From(5, "python:$V", "build"), From(7, "build", "")]
    assert dockerfile.stages[0].instructions == (Run(6, "make"),)


@each_row(
    ("line", "read"),
    [
        ('env A=1 B="two words" C=a\\ b', Env(2, (("A", "1"), ("B", "two words"), ("C", "a b")))),
        ("ENV A='$X' B=$Y", Env(2, (("A", "\\$X"), ("B", "$Y")))),
        ("ENV OLD form of it", Env(2, (("OLD", "form of it"),))),
        ("WORKDIR /app", Workdir(2, "/app")),
        ("COPY a b/ /app/", Copy(2, ("a", "b/"), "/app/", "")),
        ('COPY ["a b", "/c d"]', Copy(2, ("a b",), "/c d", "")),
        ("COPY --from=Build --chown=1:1 /x /y", Copy(2, ("/x",), "/y", "build", ("--chown=1:1",))),
        ("RUN --mount=type=cache,target=/c make -j", Run(2, "make -j", ("--mount=type=cache,target=/c",))),
        ('RUN ["make", "-j"]', Run(2, ("make", "-j"))),
        ('ENTRYPOINT ["python", "-m", "x"]', Entrypoint(2, ("python", "-m", "x"))),
        ("CMD python x.py", Cmd(2, "python x.py")),
        ("USER 1000", Note(2, "USER", "1000")),
        ("EXPOSE 80/tcp", Note(2, "EXPOSE", "80/tcp")),
        ("LABEL a=b", Note(2, "LABEL", "a=b")),
        ("ARG NAME", Arg(2, "NAME", None)),
        ('ARG NAME="a b"', Arg(2, "NAME", "a b")),
    ],
)  # fmt: skip
def test_an_instruction_is_read(line: str, read: Instruction) -> None:
    assert instructions(line) == [read]


def test_a_continued_line_keeps_its_first_number_and_skips_comments_inside() -> None:
    assert instructions("RUN make \\\n  # why\n\n  install\nUSER x") == [Run(2, "make install"), Note(6, "USER", "x")]


@of_table(
    "text",
    "path",
    "said",
    more=[
        ("FROM a\nRUN " + "[" * 5_000, "w/Dockerfile:2", "the list can't be read"),
        ("FROM a\nRUN [" + "1" * 5_000 + "]", "w/Dockerfile:2", "the list can't be read"),
    ],
)
def test_what_is_not_read_is_named_with_file_and_line(text: str, path: str, said: str) -> None:
    _, problems = parse(text, "w/Dockerfile")
    assert [problem.path for problem in problems] == [path]
    assert said in problems[0].message


def test_all_problems_come_at_once() -> None:
    _, problems = parse("FROM a\nADD b c\nVOLUME /d\nCOPY e\n")
    assert [problem.path for problem in problems] == ["Dockerfile:2", "Dockerfile:3", "Dockerfile:4"]


@of_table("text", "value")
def test_variables_are_filled_in(text: str, value: str) -> None:
    assert substitute(text, {"A": "1", "E": ""}) == value


def test_a_shift_in_a_command_is_no_here_document() -> None:
    assert parse('FROM a\nRUN echo $((1<<4)) "1 << 4" <<< word\n')[1] == []


def test_a_long_value_that_cant_be_read_is_refused_at_once() -> None:
    _, problems = parse("FROM a\nENV A=" + "\\a" * 10_000 + '"\n')  # each backslash once doubled the time
    assert [problem.path for problem in problems] == ["Dockerfile:2"]


@given(st.text())
def test_any_text_is_read_or_refused_without_an_exception(text: str) -> None:
    dockerfile, problems = parse(text)
    assert bool(dockerfile.stages) or problems
