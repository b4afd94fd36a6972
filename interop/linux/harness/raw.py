"""A client made by hand on a raw socket: proves the path between host and guest without our stack."""

import socket
import time

from . import dccp
from .checks import Seen, require
from .job import Timeout

SERVICE = 42
ISS = 0x123456789ABC
LIMIT_S = 5


class Client:
    """Requests from one port, answers to it."""

    def __init__(self, sides, local_port):
        self.source, self.target = sides.address("ours"), sides.address("kernel")
        self.v6 = sides.cell.ip == 6
        family = socket.AF_INET6 if self.v6 else socket.AF_INET
        self.local_port = local_port
        self.socket = socket.socket(family, socket.SOCK_RAW, dccp.PROTOCOL)
        self.socket.bind((self.source, 0))

    def ask(self, type, port, seq, **fields):
        """Sends a packet; the caller may wait for the answer."""
        ports = (self.local_port, port)
        packet = dccp.encode(type, self.source, self.target, ports, seq, **fields)
        self.socket.sendto(packet, (self.target, 0))

    def answer(self, what):
        end = time.monotonic() + LIMIT_S
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(2048)
            except TimeoutError:
                break
            if not self.v6:
                data = data[(data[0] & 15) * 4 :]
            packet = dccp.decode(data, self.target, self.source)
            if packet and packet.target_port == self.local_port:
                require(packet.checksum_is_right, f"{packet.name} with a wrong checksum")
                return packet
        raise Timeout(f"no answer to {what} within {LIMIT_S} s")


def play(sides):
    """Request, Response with our service code, Reset; another service; a closed port."""
    sides.server("kernel", "--hold", "--seconds", 30, "--service", SERVICE)
    client = Client(sides, 40001)
    with client.socket:
        client.ask(dccp.REQUEST, sides.port, ISS, service=SERVICE)
        response = client.answer("a Request")
        require(response.type == dccp.RESPONSE, f"a {response.name} answers the Request")
        require(response.service == SERVICE, f"the Response has service {response.service}")
        require(response.ack == ISS, "the Response acknowledges another number")
        reset = {"ack": response.seq, "data": bytes([2])}
        client.ask(dccp.RESET, sides.port, ISS + 1, **reset)

        client.local_port += 1
        client.ask(dccp.REQUEST, sides.port, ISS, service=SERVICE + 1)
        wrong_service = client.answer("a Request for another service")
        code = wrong_service.reset_code
        require(code == 8, f"{wrong_service.name} {code} answers a Request for another service")

        client.local_port += 1
        client.ask(dccp.REQUEST, sides.port + 1, ISS, service=SERVICE)
        closed = client.answer("a Request to a closed port")
        # The kernel says "no connection", where RFC 4340, section 8.1.3 has "refused", 7.
        require(closed.reset_code in (3, 7), f"{closed.name} {closed.reset_code}, not Reset 3")
        require((closed.seq, closed.ack) == (0, ISS), "the Reset's numbers are not 0 and ours")
    seen = Seen(port=sides.port)
    seen.notes.append(f"Response with service {response.service}; Reset 8; Reset {closed.reset_code}")
    return seen
