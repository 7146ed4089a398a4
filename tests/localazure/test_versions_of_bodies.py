"""Members of bodies by the version that they are sent in."""

from localazure.shapes.versions import presence
from tests.support.tables import of_table


@of_table("name", "member", "version", "found")
def test_members_come_and_go_with_versions(name: str, member: str, version: str, found: str) -> None:
    assert presence(name, member, version) == found
