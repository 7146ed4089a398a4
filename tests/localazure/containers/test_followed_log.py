"""A log that is read on: whole lines without their times, also when its older half is dropped."""

from pathlib import Path

from localazure.containers.followed_log import FollowedLog

TIME = "2026-11-20T23:11:53.{:06d}Z "


def lines(first: int, last: int) -> str:
    return "".join(f"{TIME.format(number)}line {number}\n" for number in range(first, last))


def told(first: int, last: int) -> bytes:
    return "".join(f"line {number}\n" for number in range(first, last)).encode()


def test_lines_are_told_once_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "log"
    log = FollowedLog(file)
    assert log.read_on() == b""
    file.write_text(lines(0, 2) + TIME.format(2) + "li")
    assert log.read_on() == told(0, 2)
    with file.open("a") as more:
        more.write("ne 2\n" + lines(3, 4))
    assert log.read_on() == told(2, 4)
    assert log.read_on() == b""


def test_nothing_is_lost_when_the_older_half_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(lines(0, 100))
    log = FollowedLog(file)
    assert log.read_on() == told(0, 100)
    (tmp_path / "log.new").write_text(lines(50, 110))
    (tmp_path / "log.new").replace(file)
    assert log.read_on() == told(100, 110)
    (tmp_path / "log.new").write_text(lines(200, 400))  # longer than before, and nothing of it is known
    (tmp_path / "log.new").replace(file)
    assert log.read_on() == told(200, 400)


def test_a_carriage_return_ends_no_line(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(TIME.format(1).encode() + b"10%\r20%\r30%\n")
    assert FollowedLog(file).read_on() == b"10%\r20%\r30%\n"
