"""What the tests of sockets share: certificates, two ends of a connection, a server, and a limit of time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import fairwire as fw
from fairwire import CLEAR_TEXT, Identity, aio

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
