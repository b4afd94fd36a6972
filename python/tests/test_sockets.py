"""Sockets: datagrams and their fates, DTLS, ends of connections, waiting, threads and processes."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import fairwire as fw
import pytest
from fairwire import CLEAR_TEXT, Dtls, Fate, Identity, aio, errors, net

T = TypeVar("T")

ECHO = "SC:echo"
#: The limit of every wait that should be short.
LIMIT = 10.0
SERVER = Identity.generate(["localhost"])
CLIENT = Identity.generate()


def run(test: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(test, LIMIT))


@asynccontextmanager
async def pair(
    server: fw.ServerSecurity = CLEAR_TEXT,
    client: fw.ClientSecurity = CLEAR_TEXT,
    config: fw.Config | None = None,
) -> AsyncIterator[tuple[aio.Connection, aio.Connection]]:
    """Two ends of a connection."""
    async with aio.listen("127.0.0.1:0", ECHO, security=server, config=config) as listener:
        connecting = asyncio.create_task(
            aio.connect(str(listener.address), ECHO, security=client, config=config)
        )
        accepted = await listener.accept()
        yield await connecting, accepted


async def serve(listener: aio.Listener) -> None:
    """Returns every datagram."""

    async def echo(connection: aio.Connection) -> None:
        async with connection:
            async for datagram in connection:
                await connection.send(datagram.data)

    tasks = set()
    async for connection in listener:
        tasks.add(asyncio.create_task(echo(connection)))
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("encrypted", [False, True])
def test_an_echo_returns(encrypted: bool) -> None:
    """Datagrams go both ways, with DTLS and in clear text, and each side knows what protects them."""

    async def main() -> None:
        server: fw.ServerSecurity = Dtls.server(SERVER) if encrypted else CLEAR_TEXT
        client: fw.ClientSecurity = Dtls.pinned(SERVER.fingerprint) if encrypted else CLEAR_TEXT
        listener = aio.listen("127.0.0.1:0", [ECHO, "SC:cam"], security=server)
        serving = asyncio.create_task(serve(listener))
        async with await aio.connect(f"localhost:{listener.address.port}", ECHO, security=client) as connection:
            assert connection.is_encrypted == encrypted
            assert connection.peer_fingerprint == (SERVER.fingerprint if encrypted else None)
            assert connection.service == ECHO
            assert connection.peer_address is not None and connection.peer_address.port == listener.address.port
            assert connection.local_address is not None and connection.local_address.host in ("127.0.0.1", "::1")
            for data in (b"", b"one", bytearray(b"two"), memoryview(b"three"), bytes(1_200)):
                await connection.send(data)
                answer = await connection.recv()
                assert answer.data == bytes(data) and len(answer) == len(data) and answer.lost_before == 0
                assert not (answer.marked or answer.corrupt or answer.resent)
        listener.close()
        await serving

    run(main())


def test_threads_and_tasks_talk() -> None:
    """A blocking client talks to an asyncio server, and an asyncio client to a blocking server."""

    def client(address: str) -> list[bytes]:
        with net.connect(address, ECHO, security=Dtls.pinned(SERVER.fingerprint), timeout=LIMIT) as connection:
            answers = []
            for number in range(20):
                connection.send(b"%d" % number, timeout=LIMIT)
                answers.append(connection.recv(timeout=LIMIT).data)
            return answers

    def server(listener: net.Listener) -> None:
        with listener.accept(timeout=LIMIT) as connection:
            for datagram in connection:
                connection.send(datagram.data)

    async def main() -> None:
        listener = aio.listen("127.0.0.1:0", ECHO, security=Dtls.server(SERVER))
        serving = asyncio.create_task(serve(listener))
        answers = await asyncio.to_thread(client, str(listener.address))
        assert answers == [b"%d" % number for number in range(20)]
        listener.close()
        await serving

        with net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT) as blocking:
            threaded = asyncio.create_task(asyncio.to_thread(server, blocking))
            async with await aio.connect(str(blocking.address), ECHO, security=CLEAR_TEXT) as connection:
                await connection.send(b"hello")
                assert (await connection.recv()).data == b"hello"
            await threaded

    run(main())


def test_a_late_datagram_expires() -> None:
    """A datagram behind a full queue does not leave after its deadline, and its fate says so."""

    async def main() -> None:
        async with pair(config={"report_fates": True}) as (client, server):
            for _ in range(20):
                filling = 0
                while client.try_send(bytes(1_200), priority=1) is not None and filling < 250:
                    filling += 1
                try:
                    late = client.try_send(b"late", deadline=0.000_2)
                except errors.SendError as error:
                    assert error.reason == "deadline-passed"
                    continue
                if late is None:
                    continue
                async for fate in client.fates():
                    if fate.id == late:
                        break
                if fate.fate == Fate.EXPIRED:
                    break
            assert fate.fate == Fate.EXPIRED and client.stats().expired >= 1
            with pytest.raises(errors.SendError) as refused:
                await client.send(b"too late", deadline=0.0)
            assert refused.value.reason == "deadline-passed"
            await client.close()
            assert all([datagram.data != b"late" async for datagram in server])

    run(main())


def test_each_datagram_has_one_fate() -> None:
    async def main() -> None:
        async with pair(config={"report_fates": True}) as (client, server):
            ids = [await client.send(b"%d" % number, priority=number % 3) for number in range(500)]
            closing = asyncio.create_task(client.close())
            received = [datagram.data async for datagram in server]
            await closing
            fates = [fate async for fate in client.fates()]
            assert sorted(fate.id for fate in fates) == ids == list(range(500))
            arrived = [fate for fate in fates if fate.fate in (Fate.ACKNOWLEDGED, Fate.MARKED)]
            assert len(arrived) <= len(received) and len(arrived) > 250
            assert all(fate.drop_code is None for fate in arrived)

    run(main())


def test_statistics_are_plausible() -> None:
    async def main() -> None:
        async with pair() as (client, server):
            for _ in range(200):
                await client.send(bytes(1_000))
            for _ in range(200):
                await server.recv()
            sent, received = client.stats(), server.stats()
            assert sent.data_sent == 200 and sent.bytes_sent == 200_000
            assert received.data_received == 200 and received.bytes_received == 200_000
            assert sent.rtt_s is not None and 0 < sent.rtt_s < 5
            assert sent.send_ccid == 2 and sent.cwnd_packets is not None and sent.cwnd_packets >= 1
            rate = client.allowed_rate()
            assert rate is not None and rate > 0
            target = await client.rate_changed()
            assert target.bits_per_s > 0 and target.limit in ("application", "network", "peer")
            assert client.target_bitrate() is not None
            assert client.queue_age() == 0.0 and client.waits_for() == "nothing"
            assert 1_200 < client.max_datagram_size < 1_500

    run(main())


def test_another_ccid_and_law_are_in_use() -> None:
    async def main() -> None:
        config: fw.Config = {"send_ccids": [3, 2], "receive_ccids": [3, 2], "law": "cubic", "keep_alive": None}
        async with pair(config=config) as (client, server):
            await client.send(b"data")
            await server.recv()
            assert client.stats().send_ccid == 3 and client.stats().cwnd_packets is None

    run(main())


def test_what_waits_can_be_purged() -> None:
    async def main() -> None:
        async with pair(config={"report_fates": True}) as (client, _):
            purged = 0
            while purged == 0:
                while client.try_send(bytes(1_200)) is not None:
                    pass
                purged = client.purge()
            refused = 0
            while refused < purged:
                fate = await client.fate()
                refused += fate.fate == Fate.REFUSED

    run(main())


def test_a_full_queue_makes_the_sender_wait() -> None:
    async def main() -> None:
        async with pair(config={"queue_packets": 4}) as (client, server):

            async def send() -> None:
                for number in range(300):
                    await client.send(b"%d" % number)
                await client.close()

            sending = asyncio.create_task(send())
            received = [int(datagram.data) async for datagram in server]
            await sending
            assert received == sorted(received) and len(received) > 150

    run(main())


def test_lost_members_of_groups_are_known() -> None:
    """A datagram that is too large is refused with the maximum; a broken group refuses its rest."""

    async def main() -> None:
        async with pair() as (client, _):
            max = client.max_datagram_size
            with pytest.raises(errors.DatagramTooLarge, match=f"at most {max} bytes") as large:
                await client.send(bytes(max + 1))
            assert large.value.max == max and large.value.size == max + 1
            with pytest.raises(errors.SendError) as again:
                await client.send(b"again", resend=1.0)
            assert again.value.reason == "resend-not-agreed"

            broken = False
            for group in range(50):
                while client.try_send(bytes(1_200), group=group) is not None:
                    pass
                if client.purge() > 0:
                    with pytest.raises(errors.SendError) as rest:
                        await client.send(b"rest", group=group)
                    broken = rest.value.reason == "group-broken"
                    break
            assert broken

    run(main())


def test_datagrams_may_be_sent_again() -> None:
    """If both ends agree. On the loopback nothing is lost, so each arrives once."""

    async def main() -> None:
        async with pair(config={"resend": True, "report_fates": True}) as (client, server):
            id = await client.send(b"again, if need be", resend=1.0)
            datagram = await server.recv()
            assert datagram.data == b"again, if need be" and not datagram.resent
            assert await client.fate() == (id, Fate.ACKNOWLEDGED, None)
            assert client.stats().resent == 0

    run(main())


def test_a_wrong_fingerprint_is_refused() -> None:
    """The error names both fingerprints, and nothing was sent in clear text."""

    async def main() -> None:
        listener = aio.listen("127.0.0.1:0", ECHO, security=Dtls.server(SERVER))
        serving = asyncio.create_task(serve(listener))
        with pytest.raises(errors.DtlsError) as refused:
            await aio.connect(str(listener.address), ECHO, security=Dtls.pinned(CLIENT.fingerprint))
        text = str(refused.value)
        assert text.startswith("no encrypted connection with 127.0.0.1")
        assert SERVER.fingerprint in text and f"expected {CLIENT.fingerprint}" in text
        assert refused.value.fingerprint == SERVER.fingerprint
        assert isinstance(refused.value, ConnectionError) and isinstance(refused.value, fw.FairwireError)

        # A client without DTLS is told what the server expects.
        clear = await aio.connect(str(listener.address), ECHO, security=CLEAR_TEXT)
        await clear.send(b"clear text")
        with pytest.raises(errors.ConnectionClosed) as closed:
            await clear.recv()
        assert closed.value.refusal == "not-dtls" and "connect with DTLS 1.3" in str(closed.value)
        listener.close()
        await serving

    run(main())


def test_servers_can_require_certificates() -> None:
    async def main() -> None:
        security = Dtls.server(SERVER, client_fingerprints=[CLIENT.fingerprint])
        async with aio.listen("127.0.0.1:0", ECHO, security=security) as listener:
            known = Dtls.pinned(SERVER.fingerprint, identity=CLIENT)
            connecting = asyncio.create_task(aio.connect(str(listener.address), ECHO, security=known))
            accepted = await listener.accept()
            assert accepted.peer_fingerprint == CLIENT.fingerprint
            await (await connecting).close()

            accepting = asyncio.create_task(listener.accept())
            unknown = Dtls.pinned(SERVER.fingerprint)
            with pytest.raises((errors.DtlsError, errors.ConnectionClosed), match="certificate"):
                connection = await aio.connect(str(listener.address), ECHO, security=unknown)
                await connection.recv()
            assert listener.failed_handshakes == 1
            accepting.cancel()
        assert listener.failed_handshakes == 1

    run(main())


def test_an_authority_is_trusted_for_a_name() -> None:
    """Here the certificate is its own authority."""

    async def main() -> None:
        async with aio.listen("127.0.0.1:0", ECHO, security=Dtls.server(SERVER)) as listener:
            accepting = asyncio.create_task(listener.accept())
            with pytest.raises(errors.DtlsError, match="certificate"):
                other = Dtls.verified(CLIENT.certificate(), "localhost")
                await aio.connect(str(listener.address), ECHO, security=other)
            accepting.cancel()

    run(main())


def test_bad_credentials_are_named() -> None:
    with pytest.raises(errors.CredentialError, match="64 hexadecimal digits"):
        Dtls.pinned("12:34")
    with pytest.raises(TypeError, match="keygen"):
        Dtls.pinned()
    with pytest.raises(errors.CredentialError, match="BEGIN CERTIFICATE"):
        Identity("nothing", SERVER.key())
    with pytest.raises(errors.CredentialError, match="does not belong"):
        Identity(SERVER.certificate(), CLIENT.key())
    with pytest.raises(errors.CredentialError):
        Dtls.verified("nothing", "localhost")
    again = Identity(SERVER.certificate(), SERVER.key())
    assert again.fingerprint == SERVER.fingerprint and SERVER.fingerprint in repr(again)


def test_clear_text_is_written_out() -> None:
    with pytest.raises(TypeError, match="security"):
        net.listen("127.0.0.1:0", ECHO)  # type: ignore[call-arg]
    for security in (None, "none", Dtls.pinned(SERVER.fingerprint)):
        with pytest.raises(TypeError, match="CLEAR_TEXT"):
            net.listen("127.0.0.1:0", ECHO, security=security)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="CLEAR_TEXT"):
        net.connect("127.0.0.1:1", ECHO, security=Dtls.server(SERVER))  # type: ignore[arg-type]


def test_an_orderly_end_ends_the_loop() -> None:
    async def main() -> None:
        for encrypted in (False, True):
            server_security: fw.ServerSecurity = Dtls.server(SERVER) if encrypted else CLEAR_TEXT
            client_security: fw.ClientSecurity = Dtls.pinned(SERVER.fingerprint) if encrypted else CLEAR_TEXT
            async with pair(server_security, client_security) as (client, server):
                await client.send(b"last")
                await client.close()
                assert [datagram.data async for datagram in server] == [b"last"]
                with pytest.raises(errors.ConnectionClosed) as closed:
                    await server.recv()
                assert closed.value.orderly and closed.value.reason == "closed"
                assert closed.value.authenticated == encrypted
                assert await server.wait_closed() == "closed"
                with pytest.raises(errors.ConnectionClosed):
                    await server.send(b"to nobody")

    run(main())


def test_other_ends_raise() -> None:
    """A reset has the reason. A connection that was dropped is reset, and so is one whose block an exception ended."""

    async def main() -> None:
        async with pair() as (client, server):
            client.abort("enough of this")
            with pytest.raises(errors.ConnectionClosed, match="enough of this") as closed:
                async for _ in server:
                    pass
            assert not closed.value.orderly and closed.value.reason == "reset"
            assert closed.value.peer_text == "enough of this"
        async with aio.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT) as listener:
            dropped = await aio.connect(str(listener.address), ECHO, security=CLEAR_TEXT)
            server = await listener.accept()
            del dropped
            gc.collect()
            with pytest.raises(errors.ConnectionClosed) as closed:
                await server.recv()
            assert closed.value.reason == "reset"
        async with pair() as (client, server):
            with pytest.raises(ZeroDivisionError):
                async with client:
                    raise ZeroDivisionError
            assert await server.wait_closed() == "reset"

    run(main())


def test_errors_of_connecting() -> None:
    """Each has its class, and Python's; the messages say what to do."""

    async def main() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            port = silent.getsockname()[1]
            config: fw.Config = {"connect_timeout": 0.3}
            with pytest.raises(errors.ConnectTimeout, match="did not answer") as timeout:
                await aio.connect(f"127.0.0.1:{port}", ECHO, security=CLEAR_TEXT, config=config)
            assert isinstance(timeout.value, TimeoutError)
        with pytest.raises(errors.ConnectRefused, match="is the server running") as refused:
            await aio.connect(f"127.0.0.1:{port}", ECHO, security=CLEAR_TEXT)
        assert isinstance(refused.value, ConnectionRefusedError)
        with aio_listener() as listener, pytest.raises(errors.ConnectRefused, match="another service"):
            await aio.connect(str(listener.address), "SC:cam", security=CLEAR_TEXT)
        with pytest.raises(errors.ConnectError, match="localhost:7001"):
            await aio.connect("localhost", ECHO, security=CLEAR_TEXT)
        with aio_listener() as listener, pytest.raises(errors.BindError, match="in use") as bound:
            aio.listen(str(listener.address), ECHO, security=CLEAR_TEXT)
        assert isinstance(bound.value, OSError)
        with pytest.raises(errors.BindError, match="not an IP address"):
            aio.listen("localhost:1", ECHO, security=CLEAR_TEXT)
        with pytest.raises(ValueError, match="SC:name"):
            await aio.connect("127.0.0.1:1", "echo", security=CLEAR_TEXT)

    def aio_listener() -> net.Listener:
        return net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT)

    run(main())


def test_settings_are_checked() -> None:
    def refused(config: dict[str, object]) -> str:
        with pytest.raises(errors.ConfigError) as error:
            net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT, config=config)  # type: ignore[arg-type]
        return str(error.value)

    assert refused({"keepalive": 1}).startswith("no setting is called 'keepalive': there are send_ccids, ")
    assert refused({"idle_timeout": -1}) == "idle_timeout: it is a number of seconds from 0, and not -1"
    assert refused({"idle_timeout": 0}).startswith("idle_timeout: must be more than zero")
    assert refused({"queue_policy": "newest"}).endswith("'newest' is none of 'back-pressure', 'drop-oldest'")
    assert "send_ccids" in refused({"send_ccids": [7]})
    assert "cubic" in refused({"law": "cubik"})
    assert "report_fates" in refused({"report_fates": "yes"})
    assert "queue_packets" in refused({"queue_packets": -1})
    with pytest.raises(TypeError, match="dict"):
        net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT, config=3)  # type: ignore[arg-type]


def test_each_setting_is_described() -> None:
    """The settings of the native module and those that Python describes are the same."""
    with pytest.raises(errors.ConfigError) as error:
        net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT, config={"": 0})  # type: ignore[arg-type]
    assert str(error.value).partition("there are ")[2].split(", ") == list(fw.Config.__annotations__)


def test_bad_arguments_do_not_panic() -> None:
    listener = net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT)
    with net.connect(str(listener.address), ECHO, security=CLEAR_TEXT, timeout=LIMIT) as connection:
        for arguments in ({"deadline": -1.0}, {"deadline": float("nan")}, {"resend": float("inf")}):
            with pytest.raises(ValueError, match="number of seconds"):
                connection.send(b"", **arguments)  # type: ignore[arg-type]
        with pytest.raises(OverflowError):
            connection.send(b"", priority=1_000)
        with pytest.raises(OverflowError):
            connection.send(b"", group=-1)
        with pytest.raises(TypeError, match="not of type str"):
            connection.send("text")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="not of type int"):
            connection.send(5)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="timeout"):
            connection.recv(timeout=-1)


def test_a_cancelled_receive_loses_nothing() -> None:
    """While datagrams arrive, a task waits for them again and again for a very short time. All are there, in order."""

    async def main() -> None:
        async with pair(Dtls.server(SERVER), Dtls.pinned(SERVER.fingerprint)) as (client, server):

            async def send() -> None:
                for number in range(400):
                    await client.send(b"%d" % number)
                    if number % 7 == 0:
                        await asyncio.sleep(0.001)
                await client.close()

            sending = asyncio.create_task(send())
            numbers, cancelled = [], 0
            while True:
                receiving = asyncio.create_task(server.recv())
                for _ in range(cancelled % 4):
                    await asyncio.sleep(0)
                receiving.cancel()
                try:
                    datagram = await receiving
                except asyncio.CancelledError:
                    cancelled += 1
                    continue
                except errors.ConnectionClosed:
                    break
                numbers.append(int(datagram.data))
            await sending
            assert numbers == sorted(set(numbers)) and cancelled > 100
            assert client.stats().lost == 0 and numbers == list(range(400))

    run(main())


def test_several_tasks_share_what_arrives() -> None:
    """Each datagram goes to one task, and none waits while there is something for it."""

    async def main() -> None:
        async with pair() as (client, server):
            waiting = [asyncio.create_task(server.recv()) for _ in range(50)]
            await asyncio.sleep(0)
            for task in waiting[::5]:
                task.cancel()
            for number in range(40):
                await client.send(b"%d" % number)
            received = await asyncio.gather(*waiting, return_exceptions=True)
            data = sorted(int(got.data) for got in received if isinstance(got, fw.Datagram))
            assert data == list(range(40))

    run(main())


def test_a_busy_receiver_lets_other_tasks_run() -> None:
    async def main() -> None:
        async with pair() as (client, server):
            turns = 0

            async def other() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            for _ in range(200):
                await client.send(b"")
            while server.stats().data_received < 200:
                await asyncio.sleep(0.001)
            task = asyncio.create_task(other())
            for _ in range(200):
                await server.recv()
            task.cancel()
            assert turns >= 2

    run(main())


def test_a_busy_program_delays_no_acknowledgement() -> None:
    """The thread of the sockets goes on while this thread computes without letting others have the interpreter."""

    async def main() -> None:
        interval = sys.getswitchinterval()
        async with pair() as (client, server):
            await client.send(b"first")
            await server.recv()
            sys.setswitchinterval(LIMIT)
            try:
                for _ in range(50):
                    assert client.try_send(b"data") is not None
                end = time.perf_counter() + 0.3
                while time.perf_counter() < end:
                    pass
                assert client.stats().acknowledged >= 50 and server.stats().data_received == 51
            finally:
                sys.setswitchinterval(interval)

    run(main())


def test_threads_share_a_connection() -> None:
    """Each datagram goes to one of the threads that wait; fates are there, too."""
    received: list[int] = []

    def receive(connection: net.Connection) -> None:
        for datagram in connection:
            received.append(int(datagram.data))

    config: fw.Config = {"report_fates": True}
    with net.listen("127.0.0.1:0", ECHO, security=Dtls.server(SERVER)) as listener:
        security = Dtls.pinned(SERVER.fingerprint)
        accepted: list[net.Connection] = []
        accepting = threading.Thread(target=lambda: accepted.append(listener.accept(timeout=LIMIT)))
        accepting.start()
        client = net.connect(str(listener.address), ECHO, security=security, config=config, timeout=LIMIT)
        accepting.join(LIMIT)
        server = accepted.pop()
        threads = [threading.Thread(target=receive, args=(server,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        ids = [client.send(b"%d" % number, timeout=LIMIT) for number in range(100)]
        client.close(timeout=LIMIT)
        for thread in threads:
            thread.join(LIMIT)
        assert sorted(received) == list(range(100))
        assert sorted(fate.id for fate in client.fates()) == ids
        assert client.wait_closed(timeout=LIMIT) == "closed"


def test_waits_end_in_time() -> None:
    async def main() -> None:
        async with pair() as (client, _):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.recv(), 0.05)

    run(main())
    with net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT) as listener:
        with pytest.raises(TimeoutError, match="0.05 s"):
            listener.accept(timeout=0.05)
        with net.connect(str(listener.address), ECHO, security=CLEAR_TEXT, timeout=LIMIT) as connection:
            accepted = listener.accept(timeout=LIMIT)
            for wait in (connection.recv, connection.fate, connection.wait_closed):
                with pytest.raises(TimeoutError):
                    wait(timeout=0.02)
            with pytest.raises(TimeoutError):
                connection.recv(timeout=0)
            accepted.send(b"there")
            assert connection.recv(timeout=LIMIT).data == b"there"


def test_a_closed_listener_ends_its_waits() -> None:
    async def main() -> None:
        listener = aio.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT)
        waiting = asyncio.create_task(listener.accept())
        await asyncio.sleep(0.01)
        listener.close()
        with pytest.raises(errors.ListenerClosed):
            await waiting
        assert [connection async for connection in listener] == []

    run(main())


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads in /proc")
def test_connections_have_no_threads() -> None:
    """200 connections, each with a task that waits, run on as many threads as one."""

    def threads() -> int:
        return len(os.listdir("/proc/self/task"))

    async def main() -> None:
        listener = aio.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT)
        serving = asyncio.create_task(serve(listener))
        first = await aio.connect(str(listener.address), ECHO, security=CLEAR_TEXT)
        before = threads()
        connecting = [aio.connect(str(listener.address), ECHO, security=CLEAR_TEXT) for _ in range(200)]
        connections = await asyncio.gather(*connecting)
        await asyncio.gather(*(connection.send(b"hello") for connection in connections))
        answers = await asyncio.gather(*(connection.recv() for connection in connections))
        assert len(answers) == 200 and all(answer.data == b"hello" for answer in answers)
        waiting = [asyncio.create_task(connection.recv()) for connection in connections]
        await asyncio.sleep(0.01)
        assert threads() == before
        for task in waiting:
            task.cancel()
        await asyncio.gather(*(connection.close() for connection in connections), first.close())
        listener.close()
        await serving

    run(main())


def test_loops_in_two_threads() -> None:
    results: list[int] = []

    async def main() -> None:
        async with pair() as (client, server):
            for number in range(200):
                await client.send(b"%d" % number)
                await server.send((await server.recv()).data)
                results.append(int((await client.recv()).data))

    threads = [threading.Thread(target=run, args=(main(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert sorted(results) == sorted([*range(200)] * 2)


def script(text: str, *, interrupt: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs a script in a process of its own. Interrupts it, as Ctrl-C does, when it has printed a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    first = ""
    if interrupt:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(0.1)  # It prints, and then waits.
        process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    return subprocess.CompletedProcess([], process.returncode, first + out, err)


@pytest.mark.parametrize("wait", ["connection.recv()", "listener.accept()", "connection.wait_closed(timeout=60)"])
def test_ctrl_c_ends_a_blocking_wait(wait: str) -> None:
    done = script(
        f"""
        from fairwire import CLEAR_TEXT, net
        listener = net.listen("127.0.0.1:0", "SC:echo", security=CLEAR_TEXT)
        connection = net.connect(str(listener.address), "SC:echo", security=CLEAR_TEXT)
        accepted = listener.accept()
        try:
            print("waiting", flush=True)
            {wait}
        except KeyboardInterrupt:
            connection.send(b"still open")
            print(accepted.recv(timeout=5).data)
        """,
        interrupt=True,
    )
    assert done.stdout == "waiting\nb'still open'\n", done.stderr
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_is_refused() -> None:
    """In the child every call says so at once, and nothing hangs when its objects are dropped."""
    done = script(
        """
        import os, warnings
        from fairwire import CLEAR_TEXT, errors, net
        warnings.simplefilter("ignore")
        listener = net.listen("127.0.0.1:0", "SC:echo", security=CLEAR_TEXT)
        connection = net.connect(str(listener.address), "SC:echo", security=CLEAR_TEXT)
        accepted = listener.accept()
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (
                lambda: connection.send(b"data"),
                lambda: connection.recv(timeout=1),
                lambda: connection.stats(),
                lambda: connection.close(),
                lambda: listener.accept(),
                lambda: listener.close(),
                lambda: net.connect("127.0.0.1:1", "SC:echo", security=CLEAR_TEXT),
            ):
                try:
                    call()
                except errors.ForkedError as error:
                    assert isinstance(error, RuntimeError) and "spawn" in str(error)
                    refused += 1
            del connection, listener, accepted
            print(refused, "refused", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        connection.send(b"data")
        print(accepted.recv(timeout=5).data)
        connection.close()
        """
    )
    assert done.stdout == "7 refused\nb'data'\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_sockets_may_begin_after_a_fork() -> None:
    done = script(
        """
        import os
        from fairwire import CLEAR_TEXT, net
        child = os.fork()
        listener = net.listen("127.0.0.1:0", "SC:echo", security=CLEAR_TEXT)
        connection = net.connect(str(listener.address), "SC:echo", security=CLEAR_TEXT)
        connection.close()
        if child == 0:
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.stdout == "7\n", done.stderr


def test_a_loop_that_vanishes_is_harmless() -> None:
    """Neither a loop that is closed while its tasks wait nor the end of the process shows an error."""
    done = script(
        """
        import asyncio, gc
        from fairwire import CLEAR_TEXT, aio
        kept = []

        async def main():
            listener = aio.listen("127.0.0.1:0", "SC:echo", security=CLEAR_TEXT)
            client = await aio.connect(str(listener.address), "SC:echo", security=CLEAR_TEXT)
            server = await listener.accept()
            kept.append(client)
            waiting = server.recv()
            waiting.send(None)
            kept.append(waiting)

        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()
        kept[0].try_send(b"to nobody")
        kept.pop().close()
        del loop
        gc.collect()

        async def again():
            async with aio.listen("127.0.0.1:0", "SC:echo", security=CLEAR_TEXT) as listener:
                client = await aio.connect(str(listener.address), "SC:echo", security=CLEAR_TEXT)
                await client.close()

        asyncio.run(again())
        print("done")
        """
    )
    assert done.stdout == "done\n" and done.stderr == "", done.stderr
    assert done.returncode == 0


def test_threads_that_wait_do_not_keep_the_process() -> None:
    done = script(
        """
        import threading, time
        from fairwire import CLEAR_TEXT, net
        listener = net.listen("127.0.0.1:0", "SC:echo", security=CLEAR_TEXT)
        connection = net.connect(str(listener.address), "SC:echo", security=CLEAR_TEXT)
        for _ in range(4):
            threading.Thread(target=connection.recv, daemon=True).start()
            threading.Thread(target=listener.accept, daemon=True).start()
        time.sleep(0.1)
        print("done")
        """
    )
    assert done.stdout == "done\n" and done.returncode == 0, done.stderr


def test_the_example_runs(tmp_path: Path) -> None:
    """It makes keys, serves, and its client gets its datagrams back."""
    example = [sys.executable, str(Path(__file__).parents[1] / "examples" / "echo.py")]
    keys = subprocess.run([*example, "keys"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=True)
    server = subprocess.Popen([*example, "server", "127.0.0.1:0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        client = [*example, "client", address, keys.stdout.strip()]
        done = subprocess.run(client, capture_output=True, text=True, timeout=LIMIT, check=True)
        assert done.stdout.splitlines()[:2] == ["datagram 0", "datagram 1"]
        wrong = [*example, "client", address, SERVER.fingerprint]
        refused = subprocess.run(wrong, capture_output=True, text=True, timeout=LIMIT)
        assert refused.returncode == 1 and refused.stderr.startswith("echo: no encrypted connection with")
        server.send_signal(signal.SIGINT)
        assert server.wait(LIMIT) == 0
    finally:
        server.kill()
        server.wait(LIMIT)
        assert server.stdout is not None
        server.stdout.close()


def test_a_subinterpreter_is_refused() -> None:
    """The classes of the native module belong to one interpreter. The import says so."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        interpreters = pytest.importorskip(name) if name == "_xxsubinterpreters" else _optional(name)
        if interpreters is not None:
            break
    done = script(
        f"""
        import {name} as interpreters
        import fairwire
        interpreter = interpreters.create()
        text = "try:\\n import fairwire\\nexcept ImportError as error:\\n print(error, flush=True)"
        interpreters.run_string(interpreter, text)
        """
    )
    assert "interpreter" in done.stdout and done.returncode == 0, done.stderr


def _optional(name: str) -> object | None:
    try:
        return __import__(name)
    except ImportError:
        return None


def test_errors_survive_pickling() -> None:
    """As multiprocessing and concurrent.futures do it."""
    for error in (
        errors.ConnectionClosed("over", True, "closed", None, None, True),
        errors.DatagramTooLarge("too large", 10, 5),
        errors.DtlsError("refused", "12:34"),
        errors.SendError("late", "deadline-passed"),
        errors.ConnectRefused("nobody there"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error) and vars(copy) == vars(error)


def test_events_tell_of_changes() -> None:
    async def main() -> None:
        async with pair() as (client, server):
            server.stop_reading()
            await client.send(b"to nobody")
            while (event := await client.event()).name != "not-listening":
                assert event.value is None or event.value > 0
            with pytest.raises(errors.SendError) as refused:
                await client.send(b"to nobody")
            assert refused.value.reason == "not-listening"

    run(main())
