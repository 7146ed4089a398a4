"""Lines of keys, and findings on them."""

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu_operations.review.model import SourceLocation
from azure_gpu_operations.review.source_locations import NOWHERE, SourceLocations, of_errors, of_problems

OWN = """config:
  azure-gpu:team: vision
  azure-native:location: x
  azure-gpu:pools:
    train:
      size: A
      tags: {a: b}
      images:
        - one
        - two
"""
COMMON = "config:\n  azure-gpu:jobs:\n    nightly:\n      cpu: 4\n"
PLACES = SourceLocations({"infra/Pulumi.dev.yaml": OWN, "infra/Pulumi.common.yaml": COMMON}, "azure-gpu")


def test_a_key_has_the_line_that_it_is_written_on() -> None:
    assert PLACES.of("team") == SourceLocation("infra/Pulumi.dev.yaml", 2)
    assert PLACES.of("pools.train.size") == SourceLocation("infra/Pulumi.dev.yaml", 6)
    assert PLACES.of("pools.train.images[1]") == SourceLocation("infra/Pulumi.dev.yaml", 10)
    assert PLACES.of("azure-native:location") == SourceLocation("infra/Pulumi.dev.yaml", 3)
    assert PLACES.of("jobs.nightly.cpu") == SourceLocation("infra/Pulumi.common.yaml", 4)


def test_a_key_that_is_not_there_has_the_line_of_the_nearest_around_it() -> None:
    assert PLACES.of("pools.train.autoscale.max_nodes") == SourceLocation("infra/Pulumi.dev.yaml", 5)
    assert PLACES.of("pools.other") == SourceLocation("infra/Pulumi.dev.yaml", 4)
    assert PLACES.of("pools.train.images[7]") == SourceLocation("infra/Pulumi.dev.yaml", 8)
    assert PLACES.of("clusters.a") == NOWHERE
    assert PLACES.of("") == NOWHERE


def test_a_file_that_is_no_yaml_has_no_lines() -> None:
    assert SourceLocations({"x": "a: ["}, "azure-gpu").of("team") == NOWHERE


def test_what_a_program_rejects_is_on_its_lines_and_the_rest_is_kept() -> None:
    error = (
        "1 problem in the configuration, nothing was created:\n"
        "  - pools.train.size: retired since 2023; given: 'A'; fix: use B\n"
        "an unhandled error occurred: program exited with non-zero exit code: 1\n"
    )
    found, rest = of_errors([error, error, "the disk is full"], PLACES)
    assert [(each.path, each.place.line, each.message) for each in found] == [
        ("pools.train.size", 6, "pools.train.size: retired since 2023; given: 'A'; fix: use B")
    ]
    assert rest == ("the disk is full",)
    trace = 'Traceback (most recent call last):\n  File "/x/__main__.py", line 1, in <module>\nKeyError: no problem'
    assert of_errors(["a problem with the plugin: no space left"], PLACES)[1] == ("a problem with the plugin: no space left",)
    assert of_errors([trace], PLACES)[1] == ("KeyError: no problem",)


def test_what_the_base_has_too_is_no_news() -> None:
    one = Problem("pools.train.size", "retires soon", code=Code.RETIRING, severity=Severity.WARNING)
    other = Problem("team", "is long", severity=Severity.WARNING)
    found = of_problems([one, other], PLACES, [other])
    assert [(each.code, each.is_new, each.place.line) for each in found] == [("RETIRING", True, 6), ("INVALID", False, 2)]
