"""An encrypted echo: a server that returns every datagram, and a client that sends some.

    python echo.py keys                              makes server.crt and server.key, and prints the fingerprint
    python echo.py server [::]:7001
    python echo.py client localhost:7001 FINGERPRINT
"""

import asyncio
import os
import sys

from fairwire import Dtls, FairwireError, Identity, aio

SERVICE = "SC:echo"


async def echo(connection: aio.Connection) -> None:
    """Serves one client until it closes the connection."""
    try:
        async with connection:
            async for datagram in connection:
                await connection.send(datagram.data)
    except FairwireError as error:
        print(f"{connection.peer_address}: {error}")


async def serve(address: str) -> None:
    security = Dtls.server(Identity.load("server.crt", "server.key"))
    clients = set()
    async with aio.listen(address, SERVICE, security=security) as listener:
        print(f"serving at {listener.address}", flush=True)
        async for connection in listener:
            task = asyncio.create_task(echo(connection))
            clients.add(task)
            task.add_done_callback(clients.discard)


async def ask(address: str, fingerprint: str) -> None:
    async with await aio.connect(address, SERVICE, security=Dtls.pinned(fingerprint)) as connection:
        for number in range(5):
            await connection.send(f"datagram {number}".encode(), deadline=0.5)
            try:
                answer = await asyncio.wait_for(connection.recv(), 1.0)
                print(answer.data.decode())
            except asyncio.TimeoutError:
                print(f"datagram {number} or its answer was lost")
        rtt = connection.stats().rtt_s
        print(f"round-trip time: {rtt * 1e3:.1f} ms" if rtt else "nothing was acknowledged")


def make_keys() -> None:
    identity = Identity.generate(["localhost"])
    with open("server.crt", "w") as file:
        file.write(identity.certificate())
    with open(os.open("server.key", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        file.write(identity.key())
    print(identity.fingerprint)


def main(arguments: list[str]) -> None:
    match arguments:
        case ["keys"]:
            make_keys()
        case ["server", address]:
            asyncio.run(serve(address))
        case ["client", address, fingerprint]:
            asyncio.run(ask(address, fingerprint))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FairwireError as error:
        sys.exit(f"echo: {error}")
    except KeyboardInterrupt:
        pass
