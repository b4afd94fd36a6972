"""Sockets: datagrams and their fates, statistics, settings in use, DTLS, and the example."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import fairwire as fw
import pytest
from connections import CLIENT, ECHO, LIMIT, SERVER, pair, run, serve
from fairwire import CLEAR_TEXT, Dtls, Fate, aio, errors, net


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
            for attempt in range(20):
                # A busy machine may let one of them leave in time.
                data = b"late %d" % attempt
                filling = 0
                while client.try_send(bytes(1_200), priority=1) is not None and filling < 250:
                    filling += 1
                try:
                    late = client.try_send(data, deadline=0.000_2)
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
            assert all([datagram.data != data async for datagram in server])

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


def test_connections_share_an_endpoint() -> None:
    async def main() -> None:
        async with aio.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT) as listener:
            ports = []
            for own in (False, False, True):
                connecting = aio.connect(listener.address, ECHO, security=CLEAR_TEXT, own_endpoint=own)
                client, server = await asyncio.gather(connecting, listener.accept())
                assert server.peer_address is not None
                ports.append((server.peer_address.port, client))
            assert ports[0][0] == ports[1][0] != ports[2][0]

    run(main())


def test_a_cap_holds_data_back() -> None:
    async def main() -> None:
        async with pair(config={"max_rate": "8 kbit/s"}) as (client, server):
            for _ in range(10):
                await client.send(bytes(1_000))
            # A datagram of these takes a second, so others wait, and the target says why.
            await server.recv()
            assert client.stats().queued_packets > 0 and client.waits_for() == "pacing"
            client.set_max_rate(None)
            for _ in range(9):
                await server.recv()
            with pytest.raises(ValueError, match="above 0 bit/s"):
                client.set_max_rate(0)

    run(main())


def test_another_ccid_and_law_are_in_use() -> None:
    async def main() -> None:
        config: fw.Config = {"send_ccids": [3, 2], "receive_ccids": [3, 2], "law": "cubic", "keep_alive": None}
        async with pair(config=config) as (client, server):
            await client.send(b"data")
            await server.recv()
            assert client.stats().send_ccid == 3 and client.stats().cwnd_packets is None

    run(main())


def test_fates_that_are_not_reported_are_not_awaited() -> None:
    async def main() -> None:
        async with pair() as (client, _):
            with pytest.raises(RuntimeError, match="report_fates"):
                await client.fate()

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

            # A member may also be lost because nobody receives at the other end, and then breaks its group itself.
            with pytest.raises(errors.SendError) as rest:
                for group in range(50):
                    while client.try_send(bytes(1_200), group=group) is not None:
                        pass
                    if client.purge() > 0:
                        await client.send(b"rest", group=group)
            assert rest.value.reason == "group-broken"

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


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """As by the command."""
    certificate, key = tmp_path / "a.crt", tmp_path / "a.key"
    certificate.write_text(SERVER.certificate())
    key.write_text(SERVER.key())
    for mode in (0o640, 0o604):
        key.chmod(mode)
        with pytest.raises(errors.CredentialError, match=rf"others may read the private key .*a.key \(mode {mode:o}\): .*chmod 600"):
            fw.Identity.load(certificate, key)
    key.chmod(0o600)
    assert fw.Identity.load(certificate, key).fingerprint == SERVER.fingerprint


def test_a_client_connects_to_the_address_of_a_listener() -> None:
    """As it is, and as text."""

    async def both() -> None:
        async with aio.listen("127.0.0.1:0", "SC:echo", security=CLEAR_TEXT) as listener:
            for address in (listener.address, str(listener.address)):
                async with await aio.connect(address, "SC:echo", security=CLEAR_TEXT) as connection:
                    assert connection.peer_address is not None

    asyncio.run(both())
