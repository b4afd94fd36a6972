"""A program that runs somewhere: what it says, line by line, and how it ends."""

import json
import signal
import subprocess
import threading
import time


class Timeout(Exception):
    """Something that a cell waits for did not happen."""


class Job:
    """What the guest's and the host's programs have in common. Every wait has a limit."""

    def __init__(self, argv):
        self.argv = argv
        self.lines = []
        self.status = None
        self.changed = threading.Condition()

    def said(self, line):
        with self.changed:
            self.lines.append(line)
            self.changed.notify_all()

    def ended(self, status):
        with self.changed:
            self.status = status
            self.changed.notify_all()

    def events(self):
        """The JSON objects among the lines."""
        found = []
        for line in self.lines:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
        return found

    def wait(self, limit_s):
        """The exit status."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.status is not None, limit_s):
                raise Timeout(f"still running after {limit_s:.0f} s; last words: {self.last_words()}")
        return self.status

    def event(self, name, limit_s, number=1):
        """The `number`th event of this name."""
        end = time.monotonic() + limit_s
        with self.changed:
            while True:
                found = [event for event in self.events() if event.get("event") == name]
                if len(found) >= number:
                    return found[number - 1]
                left = end - time.monotonic()
                if self.status is not None or left <= 0:
                    how = "ended" if self.status is not None else f"{limit_s:.0f} s passed"
                    raise Timeout(f"{how} without '{name}'; last words: {self.last_words()}")
                self.changed.wait(left)

    def result(self, limit_s):
        """What it reports at its end, with the exit status."""
        self.wait(limit_s)
        results = [event for event in self.events() if event.get("event") == "result"]
        if not results:
            raise Timeout(f"ended with {self.status} and no result; {self.last_words()}")
        return {**results[-1], "status": self.status}

    def last_words(self):
        return " | ".join(line[:160] for line in self.lines[-2:]) or "none"

    def kill(self):
        """Ends it at once."""
        if self.status is None:
            self.signal(signal.SIGKILL)


class HostJob(Job):
    """A program on this host."""

    def __init__(self, argv):
        super().__init__([str(word) for word in argv])
        self.process = subprocess.Popen(
            self.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.said(line.rstrip("\n"))
        self.ended(self.process.wait())

    def signal(self, number):
        self.process.send_signal(number)

    def line(self, text, limit_s):
        """Waits for a line that contains `text`."""
        with self.changed:
            said = lambda: any(text in line for line in self.lines)
            if not self.changed.wait_for(lambda: said() or self.status is not None, limit_s):
                raise Timeout(f"{limit_s:.0f} s passed without '{text}'")
            if not said():
                raise Timeout(f"ended without '{text}'; last words: {self.last_words()}")

    def document(self):
        """The JSON object that a program printed, over as many lines as it liked."""
        text = "\n".join(self.lines)
        start = text.find("{")
        if start < 0:
            raise Timeout(f"no JSON; last words: {self.last_words()}")
        return json.JSONDecoder().raw_decode(text[start:])[0]
