"""The guest's first file system: busybox, our program, the modules, in cpio's "newc" format."""

import gzip
import re
import stat

APPLETS = (
    "sh mount insmod echo ip sysctl unshare nsenter sleep usleep readlink uname cat chmod dmesg "
    "printf ping true kill netstat"
).split()


def index(tree):
    """Module name to file, for all modules below `tree`."""
    return {path.stem.replace("-", "_"): path for path in tree.rglob("*.ko")}


def order(modules, wanted):
    """Files to load, what each depends on before it."""
    found = []

    def add(name):
        path = modules.get(name)
        if path is None or path in found:
            return  # Built in, or there already.
        depends = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for other in depends[1].decode().split(",") if depends else []:
            add(other.replace("-", "_"))
        found.append(path)

    for name in wanted:
        add(name)
    return found


def entry(number, name, mode, body=b""):
    """One file in the archive."""
    path = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(body), 0, 0, 0, 0, len(path), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    pad = lambda data: data + bytes(-len(data) % 4)
    return pad(head) + pad(body)


def write(image, kernel, busybox, program, init):
    """Writes the archive to `image`."""
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in "bin dev proc sys modules tmp".split()]

    def add(name, path, mode=0o755):
        entries.append((name, stat.S_IFREG | mode, path.read_bytes()))

    add("init", init)
    add("bin/busybox", busybox)
    add("bin/guest", program)
    add("modules/order", kernel / "order", 0o644)
    for module in (kernel / "order").read_text().split():
        add(f"modules/{module}", kernel / "modules" / module, 0o644)
    for applet in APPLETS:
        entries.append((f"bin/{applet}", stat.S_IFLNK | 0o777, b"busybox"))
    entries.append(("TRAILER!!!", 0, b""))
    archive = b"".join(entry(at + 1, *what) for at, what in enumerate(entries))
    image.write_bytes(gzip.compress(archive, compresslevel=1, mtime=0))
