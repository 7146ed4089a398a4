"""The connections of our own client: kept, lost, silent, garbled. The server is a few lines that say what they are told to."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import pytest
import trustme

from localazure.kubernetes.client_transport import LostError, Transport
from tests.support.loopback import run

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Awaitable[None]]
SECONDS = 20
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


async def asked(reader: asyncio.StreamReader) -> str:
    """The first line of a request; "" where the client has gone."""
    try:
        return (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0].decode()
    except asyncio.IncompleteReadError:
        return ""


def talk(authority: trustme.CA, answering: Answering, work: Callable[[Transport], Awaitable[None]]) -> int:
    """Runs `work` against a server that answers each connection, which are counted, with `answering`. How many there were."""
    count = 0

    async def whole() -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal count
            count += 1
            await answering(reader, writer, count)
            writer.close()

        server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1").configure_cert(server_side)
        client_side = ssl.create_default_context()
        authority.configure_trust(client_side)
        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=server_side)
        transport = Transport("127.0.0.1", server.sockets[0].getsockname()[1], client_side)
        await asyncio.wait_for(work(transport), SECONDS)
        await transport.close()
        server.close()

    run(whole())
    return count


async def get(transport: Transport, method: str = "GET", seconds: float = SECONDS) -> tuple[int, bytes]:
    async with transport.ask(method, "/", {}, None, seconds) as answer:
        return answer.status, await answer.content(seconds)


async def always_fine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
    while await asked(reader):
        writer.write(FINE)
        await writer.drain()


def test_one_connection_serves_requests_after_each_other_and_more_serve_them_together(authority: trustme.CA) -> None:
    async def work(transport: Transport) -> None:
        for _ in range(3):
            assert await get(transport) == (200, b"ok")

    async def together(transport: Transport) -> None:
        assert await asyncio.gather(*(get(transport) for _ in range(3))) == [(200, b"ok")] * 3

    assert talk(authority, always_fine, work) == 1
    assert talk(authority, always_fine, together) == 3


def test_a_kept_connection_that_has_ended_meanwhile_is_replaced(authority: trustme.CA) -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        await asked(reader)
        writer.write(FINE)
        if number == 1:
            await asked(reader)  # and is gone without a word

    async def work(transport: Transport) -> None:
        assert await get(transport) == (200, b"ok")
        assert await get(transport) == (200, b"ok")

    assert talk(authority, once, work) == 2


def test_what_may_have_been_done_is_not_asked_again(authority: trustme.CA) -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        await asked(reader)
        writer.write(FINE)
        await asked(reader)

    async def work(transport: Transport) -> None:
        assert await get(transport) == (200, b"ok")
        with pytest.raises(LostError):
            await get(transport, "POST")

    assert talk(authority, once, work) == 1


def test_a_stream_comes_as_it_is_sent(authority: trustme.CA) -> None:
    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        await asked(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await writer.drain()
        assert await reader.readexactly(0) == b""
        await go_on.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await writer.drain()

    async def work(transport: Transport) -> None:
        async with transport.ask("GET", "/", {}, None, SECONDS) as answer:
            chunks = answer.chunks(SECONDS)
            assert await anext(chunks) == b"one"
            go_on.set()
            assert [chunk async for chunk in chunks] == [b"two"]

    go_on = asyncio.Event()
    assert talk(authority, stream, work) == 1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param(b"", "closed the connection", id="nothing"),
        pytest.param(b"what?\r\n\r\n", "can't be read", id="no-http"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "closed the connection", id="half"),
    ],
)
def test_an_answer_that_is_none_is_lost(authority: trustme.CA, said: bytes, why: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        await asked(reader)
        writer.write(said)

    async def work(transport: Transport) -> None:
        with pytest.raises(LostError, match=why):
            await get(transport)

    talk(authority, answer, work)


def test_a_server_that_is_silent_is_not_waited_for_for_ever(authority: trustme.CA) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        await asked(reader)
        if number == 2:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        await asked(reader)

    async def work(transport: Transport) -> None:
        with pytest.raises(LostError, match="no answer in"):
            await get(transport, seconds=0.2)
        with pytest.raises(LostError, match="nothing more in"):
            await get(transport, seconds=0.2)

    talk(authority, silent, work)


def test_a_server_that_nobody_vouches_for_is_not_asked(authority: trustme.CA) -> None:
    async def work(transport: Transport) -> None:
        stranger = Transport("127.0.0.1", transport._port, ssl.create_default_context())
        with pytest.raises(LostError, match="CERTIFICATE_VERIFY_FAILED"):
            await get(stranger)

    talk(authority, always_fine, work)


def test_what_nobody_reads_is_not_taken_from_the_server_without_end(authority: trustme.CA) -> None:
    sent = 0

    async def much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        nonlocal sent
        await asked(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n")
        try:
            while sent < 200:
                writer.write(bytes(1_000_000))
                async with asyncio.timeout(0.5):
                    await writer.drain()
                sent += 1
        except TimeoutError:
            writer.transport.abort()
        finally:
            full.set()

    async def work(transport: Transport) -> None:
        async with transport.ask("GET", "/", {}, None, SECONDS):
            await full.wait()

    full = asyncio.Event()
    talk(authority, much, work)
    assert sent < 100
