"""The guest: qemu, and programs started inside it over a virtio port."""

import ctypes
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from .job import Job
from .places import KERNEL_MAC, OURS_MAC, QEMU_PORTS, RELAY_PORTS

# A kernel that KVM can run says its first word within a second or two.
KVM_LIMIT_S = 15
TCG_LIMIT_S = 120
COMMAND_LINE = (
    "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr random.trust_cpu=on "
    "audit=0 selinux=0 apparmor=0 tsc=unstable rdinit=/init"
)


PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def end_with_parent():
    """qemu must not outlive us, however we end."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class BootError(Exception):
    """The guest did not come up in time."""


class GuestJob(Job):
    """A program in the guest."""

    def __init__(self, guest, number, argv):
        super().__init__(argv)
        self.guest, self.number = guest, number

    def signal(self, number):
        self.guest.write(f"kill\t{self.number}\t{int(number)}\n")


class Guest:
    """A booted kernel. Its console goes to `console`."""

    def __init__(self, vmlinuz, initramfs, console, accelerators=("kvm", "tcg,thread=single")):
        self.vmlinuz, self.initramfs, self.console = vmlinuz, initramfs, Path(console)
        self.accelerators = accelerators
        self.process = None
        self.boots = 0

    def boot(self):
        """Boots with the first accelerator that works. Returns its name and the seconds taken."""
        problems = []
        for accelerator in self.accelerators:
            kvm = accelerator.startswith("kvm")
            if kvm and not os.access("/dev/kvm", os.R_OK | os.W_OK):
                problems.append("kvm: no /dev/kvm that we may use")
                continue
            start = time.monotonic()
            try:
                self.launch(accelerator)
                self.await_ready(KVM_LIMIT_S if kvm else TCG_LIMIT_S)
            except BootError as error:
                problems.append(f"{accelerator}: {error}")
                self.close()
                continue
            self.boots += 1
            self.accelerators = (accelerator,)
            return accelerator, time.monotonic() - start, problems
        raise BootError("; ".join(problems))

    def launch(self, accelerator):
        self.home = tempfile.mkdtemp(prefix="fairwire-guest-")
        control = f"{self.home}/agent"
        cards = []
        for name, mac in (("kernel", KERNEL_MAC), ("second", OURS_MAC)):
            wire = f"udp=127.0.0.1:{RELAY_PORTS[name]},localaddr=127.0.0.1:{QEMU_PORTS[name]}"
            cards += ["-netdev", f"socket,id={name},{wire}"]
            cards += ["-device", f"virtio-net-pci,netdev={name},mac={mac},romfile="]
        argv = [
            "qemu-system-x86_64", "-accel", accelerator, "-M", "q35", "-m", "512", "-smp", "1",
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-kernel", str(self.vmlinuz), "-initrd", str(self.initramfs), "-append", COMMAND_LINE,
            "-chardev", f"file,id=console,path={self.console}", "-serial", "chardev:console",
            "-chardev", f"socket,id=agent,path={control},server=on,wait=off",
            "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name=agent",
            *cards,
        ]  # fmt: skip
        if accelerator.startswith("kvm"):
            argv += ["-cpu", "host"]
        errors = open(f"{self.home}/errors", "wb")
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            preexec_fn=end_with_parent,
        )
        errors.close()
        self.jobs, self.ready, self.next_number = {}, queue.Queue(), 1
        self.lock = threading.Lock()
        self.control = self.connect(control)
        threading.Thread(target=self.read, args=(self.control, self.jobs), daemon=True).start()

    def connect(self, path):
        """qemu makes its socket when it starts."""
        for _ in range(100):
            control = socket.socket(socket.AF_UNIX)
            try:
                control.connect(path)
                return control
            except OSError:
                control.close()
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        errors = Path(f"{self.home}/errors").read_text(errors="replace").strip()
        raise BootError(errors.splitlines()[-1] if errors else "qemu opens no control socket")

    def await_ready(self, limit_s):
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            try:
                self.ready.get(timeout=0.2)
                return
            except queue.Empty:
                if self.process.poll() is not None:
                    raise BootError(f"qemu ended with {self.process.returncode}") from None
        raise BootError(f"no sign of the guest within {limit_s} s")

    def read(self, control, jobs):
        """Hands the agent's lines to the jobs; runs in a thread until the guest is gone."""
        with control.makefile("rb") as lines:
            try:
                for raw in lines:
                    line = raw.decode(errors="replace").rstrip("\n")
                    what, number, text = (line.split("\t", 2) + ["", ""])[:3]
                    if what == "ready":
                        self.ready.put(True)
                    elif job := jobs.get(int(number) if number.isdigit() else -1):
                        job.said(text) if what == "out" else job.ended(int(text or 1))
            except OSError:
                pass
        for job in list(jobs.values()):
            if job.status is None:
                job.said("the guest is gone")
                job.ended(255)

    def write(self, line):
        with self.lock:
            try:
                self.control.sendall(line.encode())
            except OSError:
                pass  # The reader tells the jobs.

    def start(self, *argv):
        """Starts a program in the guest."""
        job = GuestJob(self, self.next_number, ["guest:", *map(str, argv)])
        self.jobs[self.next_number] = job
        self.next_number += 1
        self.write("\t".join(["start", str(job.number), *job.argv[1:]]) + "\n")
        return job

    def is_well(self):
        """Does it still answer?"""
        return self.process.poll() is None and self.start("true").wait(10) == 0

    def console_size(self):
        return self.console.stat().st_size if self.console.exists() else 0

    def complaints(self, since):
        """What the kernel says went wrong in it, without the time stamps."""
        with open(self.console, "rb") as console:
            console.seek(since)
            text = console.read().decode(errors="replace")
        marks = ("BUG", "Oops", "WARNING:", "Kernel panic", "Call Trace")
        return [
            re.sub(r"^\[ *[\d.]+\] *", "", line).strip()
            for line in text.splitlines()
            if any(mark in line for mark in marks)
        ]

    def close(self):
        """Ends qemu, our own process and no other."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
        if self.process:
            shutil.rmtree(self.home, ignore_errors=True)
            self.process = None
