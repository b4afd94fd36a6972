"""Sockets: what is refused, how connections end, and the errors that say so."""

from __future__ import annotations

import asyncio
import functools
import gc
import pickle
import re
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import fairwire as fw
import pytest
from connections import CLIENT, ECHO, LIMIT, SERVER, pair, run, serve
from fairwire import CLEAR_TEXT, Dtls, Identity, aio, errors, net
from fairwire._config import Keys


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


def test_a_refused_client_learns_why_from_connect() -> None:
    """A server that knows its clients says whether one showed no certificate, or one that it does not accept."""

    async def main() -> None:
        security = Dtls.server(SERVER, client_fingerprints=[CLIENT.fingerprint])
        async with aio.listen("127.0.0.1:0", ECHO, security=security) as listener:
            accepting = asyncio.create_task(listener.accept())
            for identity, refusal in ((None, "no-certificate"), (SERVER, "certificate")):
                client = Dtls.pinned(SERVER.fingerprint, identity=identity)
                with pytest.raises(errors.DtlsError) as refused:
                    await aio.connect(str(listener.address), ECHO, security=client)
                assert refused.value.refusal == refusal, refused.value
                assert refused.value.peer_text is not None and "certificate" in refused.value.peer_text
                assert refused.value.fingerprint is None
            accepting.cancel()

    run(main())


def test_bad_credentials_are_named(tmp_path: Path) -> None:
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
    certificate, key, der = (tmp_path / name for name in ("id.crt", "id.key", "id.der"))
    certificate.write_text(SERVER.certificate())
    key.write_text(CLIENT.key())
    key.chmod(0o600)
    der.write_bytes(b"\x30\x82\x01\x0a")
    with pytest.raises(errors.CredentialError, match=re.escape(f"{der} is not in PEM: 'openssl x509 -inform der'")):
        Identity.load(der, key)
    with pytest.raises(errors.CredentialError, match=re.escape(f"{certificate} with {key}: ") + ".* does not belong"):
        Identity.load(certificate, key)
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


def test_a_close_says_why() -> None:
    async def main() -> None:
        for encrypted in (False, True):
            server_security: fw.ServerSecurity = Dtls.server(SERVER) if encrypted else CLEAR_TEXT
            client_security: fw.ClientSecurity = Dtls.pinned(SERVER.fingerprint) if encrypted else CLEAR_TEXT
            async with pair(server_security, client_security) as (client, server):
                await client.close(2**32 - 1, "no more players")
                with pytest.raises(errors.ConnectionClosed, match="no more players") as closed:
                    await server.recv()
                assert closed.value.orderly and closed.value.reason == "closed"
                assert closed.value.code == 2**32 - 1 and closed.value.peer_text == "no more players"
                assert closed.value.authenticated == encrypted
            async with pair() as (client, _):
                with pytest.raises(OverflowError):
                    await client.close(2**32)

    run(main())


def test_a_message_is_whole() -> None:
    """A message of several datagrams is received as one. Without the setting at both ends it is not sent."""

    async def main() -> None:
        message = bytes(range(256)) * 200
        for willing in (False, True):
            config: fw.Config = {"messages": willing}
            listener = aio.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT, config=config)
            async with listener:
                client = await aio.connect(str(listener.address), ECHO, security=CLEAR_TEXT, config={"messages": True})
                async with client, await listener.accept() as server:
                    assert len(await client.send_message(b"short")) == 1
                    assert (await server.recv()).data == b"short"
                    if willing:
                        assert len(await client.send_message(message, deadline=5)) > 30
                        assert (await server.recv()).data == message
                    else:
                        with pytest.raises(errors.SendError) as refused:
                            await client.send_message(message)
                        assert refused.value.reason == "messages-not-agreed"

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

    assert refused({"keepalive": 1}) == "keepalive: no setting has this name: did you mean 'keep_alive'?"
    assert refused({"idle_timeout": -1}).startswith("idle_timeout: '-1 s' is negative: write ")
    assert refused({"idle_timeout": 0}) == "idle_timeout: must be above 0 s"
    assert refused({"queue_policy": "newest"}) == "queue_policy: 'newest' is not valid: write refuse or drop-oldest"
    assert refused({"ccid3.b": 0.5}) == "ccid3.b: must be at least 1.0 and at most 100.0"
    assert refused({"idle_timeout": timedelta(days=-1)}).startswith("idle_timeout: '-86400.0 s' is negative: write ")
    assert "send_ccids" in refused({"send_ccids": [7]})
    assert "cubic" in refused({"law": "cubik"})
    assert "report_fates" in refused({"report_fates": "yes"})
    assert refused({"profile": "live video"}).startswith("profile: no profile is called 'live video'")
    assert "queue_packets" in refused({"queue_packets": -1})
    with pytest.raises(TypeError, match="dict"):
        net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT, config=3)  # type: ignore[arg-type]
    net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT, config={"idle_timeout": timedelta(seconds=5)}).close()


def test_each_setting_is_described() -> None:
    """The settings of the native module and those that Python describes are the same."""
    with pytest.raises(errors.ConfigError) as error:
        net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT, config={"": 0})  # type: ignore[arg-type]
    assert str(error.value).partition("there are ")[2].split(", ") == list(Keys.__annotations__)


def test_wrong_arguments_are_named() -> None:
    """The error says which argument it is, what it takes, and what came."""

    def refused(call: Callable[..., object], kind: type[Exception], text: str, *arguments: Any, **more: Any) -> None:
        with pytest.raises(kind, match=f"^{re.escape(text)}"):
            call(*arguments, **more)

    numbers: list[tuple[str, Any, type[Exception], str]] = [
        ("deadline", "1s", TypeError, "a number of seconds from 0, and not '1s'"),
        ("deadline", -1.0, ValueError, "a number of seconds from 0, and not -1.0"),
        ("deadline", float("nan"), ValueError, "a number of seconds from 0, and not nan"),
        ("resend", float("inf"), ValueError, "a number of seconds from 0, and not inf"),
        ("timeout", "2", TypeError, "a number of seconds from 0, and not '2'"),
        ("timeout", -1, ValueError, "a number of seconds from 0, and not -1"),
        ("priority", 128, ValueError, "a number from -128 to 127, and not 128"),
        ("priority", 1.5, TypeError, "a number from -128 to 127, and not 1.5"),
        ("group", -1, ValueError, "a number from 0 to 18446744073709551615, and not -1"),
        ("group", 2**64, ValueError, "a number from 0 to 18446744073709551615, and not 18446744073709551616"),
    ]
    listener = net.listen("127.0.0.1:0", ECHO, security=CLEAR_TEXT)
    with net.connect(str(listener.address), ECHO, security=CLEAR_TEXT, timeout=LIMIT) as connection:
        for name, value, kind, text in numbers:
            refused(connection.send, kind, f"{name} is {text}", b"", **{name: value})
            if name != "timeout":
                refused(connection.try_send, kind, f"{name} is {text}", b"", **{name: value})
        for data, of in (("text", "str"), (5, "int")):
            refused(connection.send, TypeError, f"data is bytes, a bytearray or a memoryview, and not of type {of}", data)
        for call in (connection.recv, connection.close, listener.accept):
            refused(call, ValueError, "timeout is a number of seconds from 0, and not -1", timeout=-1)
            refused(call, TypeError, "timeout is a number of seconds from 0, and not '1'", timeout="1")
        refused(connection.abort, TypeError, "reason is a text for a person, and not 3", 3)
    calls: list[Callable[..., object]] = [net.connect, net.listen]
    for begin in (functools.partial(call, security=CLEAR_TEXT) for call in calls):
        refused(begin, TypeError, 'address is as "host:port", and not 3', 3, ECHO)
        for service, kind in ((-1, ValueError), (2**32, ValueError), (1.5, TypeError), (None, TypeError)):
            text = f"service is a str such as 'SC:cam' or a number from 0 to 4294967295, and not {service}"
            refused(begin, kind, text, "127.0.0.1:0", service)
        refused(begin, ValueError, "service: 'toolong' is not", "127.0.0.1:0", "SC:toolong")
    refused(net.listen, ValueError, "backlog is a number from 1 to", "127.0.0.1:0", ECHO, security=CLEAR_TEXT, backlog=2**70)


def test_wrong_arguments_of_identities_are_named() -> None:
    pinned, fingerprint = Dtls.pinned, SERVER.fingerprint
    calls: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: Identity(3, ""), TypeError, "certificate is a str in PEM, and not of type int"),  # type: ignore[arg-type]
        (lambda: Identity("", b"secret"), TypeError, "key is a str in PEM, and not of type bytes"),  # type: ignore[arg-type]
        (lambda: Identity.load("c", 3), TypeError, "key is the path of a file, and not 3"),  # type: ignore[arg-type]
        (lambda: Identity.generate(3), TypeError, "names has host names and IP"),  # type: ignore[arg-type]
        (lambda: Identity.generate([3]), TypeError, "names[0] is a str, one of host names"),  # type: ignore[list-item]
        (lambda: Identity.generate("a", days=-1), ValueError, "days is a number from 0 to 4294967295, and not -1"),
        (lambda: pinned(3), TypeError, "fingerprints[0] is a str, one of fingerprints, and not 3"),  # type: ignore[arg-type]
        (lambda: pinned(fingerprint, identity=3), TypeError, "identity is a fairwire.Identity, and"),  # type: ignore[arg-type]
        (lambda: Dtls.verified(3, "a"), TypeError, "authorities is certificates in PEM, and not 3"),  # type: ignore[arg-type]
        (lambda: Dtls.verified("", 3), TypeError, "name is that of a host, and not 3"),  # type: ignore[arg-type]
        (lambda: Dtls.server("me"), TypeError, "identity is a fairwire.Identity, and not 'me'"),  # type: ignore[arg-type]
        (
            lambda: Dtls.server(SERVER, client_fingerprints=3),  # type: ignore[arg-type]
            TypeError,
            "client_fingerprints has fingerprints, and not 3",
        ),
        (
            lambda: Dtls.server(SERVER, client_authorities=3),  # type: ignore[arg-type]
            TypeError,
            "client_authorities is certificates in PEM, and not 3",
        ),
    ]
    for call, kind, text in calls:
        with pytest.raises(kind, match=f"^{re.escape(text)}"):
            call()


def test_errors_survive_pickling() -> None:
    """As multiprocessing and concurrent.futures do it."""
    for error in (
        errors.ConnectionClosed("over", True, "closed", None, None, True),
        errors.DatagramTooLarge("too large", 10, 5),
        errors.DtlsError("refused", "12:34"),
        errors.DtlsError("refused", None, "certificate", "DTLS: your certificate is not accepted"),
        errors.SendError("late", "deadline-passed"),
        errors.ConnectRefused("nobody there"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error) and vars(copy) == vars(error)
