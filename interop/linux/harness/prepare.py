"""Tools, kernel and initramfs: everything that needs the network, done before the namespace."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import initramfs
from .places import CACHE, GUEST_SOURCE, HERE, REPOSITORY

APT_LIMIT_S = 300
BUILD_LIMIT_S = 1200
MODULES = ["virtio_pci", "virtio_net", "virtio_console", "dccp", "dccp_ipv4", "dccp_ipv6"]
TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "gcc": "gcc libc6-dev",
    "ip": "iproute2",
    "unshare": "util-linux",
    "dpkg": "dpkg",
}


class Skipped(Exception):
    """The matrix cannot be run here; the text says why."""


def command(*argv, limit_s, **options):
    """Runs a command with a time limit and returns its output; Skipped if it fails."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=limit_s, check=False, **options
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Skipped(f"{argv[0]}: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "failed").splitlines()[-1]
        raise Skipped(f"{' '.join(argv[:3])}: {last}")
    return done.stdout


def tools():
    """Makes sure of the programs, installing Debian's packages where we may."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        packages = " ".join(TOOLS[tool] for tool in missing).split()
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        print(f"installing {' '.join(packages)}", flush=True)
        command("apt-get", "update", "-qq", limit_s=APT_LIMIT_S, env=quiet)
        install = ["install", "-y", "-qq", "--no-install-recommends"]
        command("apt-get", *install, *packages, limit_s=APT_LIMIT_S, env=quiet)
        missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        packages = " ".join(TOOLS[tool] for tool in missing)
        raise Skipped(f"{', '.join(missing)} missing (Debian: apt-get install {packages})")


def package_name():
    """The 6.1 kernel that apt knows: the one behind linux-image-amd64, or the newest."""
    wanted = r"linux-image-6\.1\.\d+-\d+-amd64"
    meta = command("apt-cache", "show", "--no-all-versions", "linux-image-amd64", limit_s=60)
    if found := re.search(wanted, meta):
        return found[0]
    names = command("apt-cache", "search", "--names-only", f"^{wanted}$", limit_s=60)
    found = re.findall(wanted, names)
    if not found:
        raise Skipped("apt knows no linux-image-6.1.*-amd64: give a package with --deb FILE")
    return max(found, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])


def download():
    """The package, through apt."""
    if not shutil.which("apt-get"):
        raise Skipped("no apt here: give Debian's kernel package with --deb FILE")
    try:
        name = package_name()
    except Skipped:
        if os.geteuid() != 0:
            raise
        command("apt-get", "update", "-qq", limit_s=APT_LIMIT_S)
        name = package_name()
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        command("apt-get", "download", "-qq", name, limit_s=APT_LIMIT_S, cwd=scratch)
        deb = next(Path(scratch).glob("*.deb"))
        return deb.rename(CACHE / deb.name)


def kernel(deb=None, refresh=False):
    """A directory with `vmlinuz`, the modules that we need in `modules/`, and their `order`."""
    CACHE.mkdir(exist_ok=True)
    known = sorted(CACHE.glob("kernel-*/order"), key=lambda path: path.stat().st_mtime)
    if deb is None and known and not refresh:
        return known[-1].parent
    deb = Path(deb) if deb else download()
    if not deb.is_file():
        raise Skipped(f"{deb} is not there")
    home = CACHE / f"kernel-{deb.stem}"
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        command("dpkg", "-x", str(deb), scratch, limit_s=120)
        pick(Path(scratch), home)
    if deb.parent == CACHE:
        deb.unlink()
    return home


def pick(tree, home):
    """Keeps what we need of an unpacked package."""
    images = list(tree.glob("boot/vmlinuz-*"))
    # Newer packages have their modules below usr/.
    trees = [path for path in (tree / "lib/modules", tree / "usr/lib/modules") if path.is_dir()]
    if len(images) != 1 or not trees:
        raise Skipped("the package holds no kernel")
    order = initramfs.order(initramfs.index(trees[0]), MODULES)
    shutil.rmtree(home, ignore_errors=True)
    (home / "modules").mkdir(parents=True)
    shutil.copy(images[0], home / "vmlinuz")
    for path in order:
        shutil.copy(path, home / "modules")
    (home / "order").write_text("".join(f"{path.name}\n" for path in order))


def guest_program():
    """The guest's program, compiled when its source changed."""
    sources = sorted(GUEST_SOURCE.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    program = CACHE / f"guest-{digest}"
    if not program.exists():
        CACHE.mkdir(exist_ok=True)
        flags = "-static -O2 -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror".split()
        files = [str(path) for path in sources if path.suffix == ".c"]
        scratch = program.with_suffix(".new")
        command("gcc", *flags, "-o", str(scratch), *files, limit_s=120)
        scratch.rename(program)
    return program


def programs():
    """Our own side, built by cargo. What does not compile is an error, not a reason to skip."""
    packages = ["-p", "fairwire-cli"]
    if (HERE / "peer/Cargo.toml").exists():
        packages += ["-p", "fairwire-peer"]
    argv = ["cargo", "build", "--release", "--locked", *packages]
    if subprocess.run(argv, cwd=REPOSITORY, timeout=BUILD_LIMIT_S, check=False).returncode != 0:
        raise SystemExit("interop/linux/run: our side does not compile")


def build(deb=None, refresh=False):
    """Everything the boot needs: the paths of the kernel and of the initramfs."""
    tools()
    home = kernel(deb, refresh)
    busybox = Path(shutil.which("busybox"))
    image, scratch = CACHE / "initramfs.gz", CACHE / f"initramfs.{os.getpid()}"
    initramfs.write(scratch, home, busybox, guest_program(), GUEST_SOURCE / "init")
    scratch.rename(image)
    return home / "vmlinuz", image
