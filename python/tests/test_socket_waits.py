"""Sockets: waiting and cancelling, threads, loops, processes, forks and interpreters."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import fairwire as fw
import pytest
from connections import ECHO, LIMIT, SERVER, pair, run, serve
from fairwire import CLEAR_TEXT, Dtls, aio, errors, net


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
        config: fw.Config = {"report_fates": True}
        with net.connect(
            str(listener.address), ECHO, security=CLEAR_TEXT, config=config, timeout=LIMIT
        ) as connection:
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
