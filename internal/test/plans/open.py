"""Opens each shared library for this machine in a folder, and prints what the loader says.

Each is opened with RTLD_NOW in a process of its own. The output is a JSON object: the message, or
"", by the path in the folder.
"""

import ctypes
import json
import os
import struct
import sys


def shared(path):
    """Whether a file is a shared object for x86-64 with a dynamic section, and no program."""
    with open(path, "rb") as f:
        head = f.read(64)
        if head[:6] != b"\x7fELF\x02\x01" or head[16:20] != b"\x03\x00\x3e\x00":
            return False
        at, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        f.seek(at)
        table = f.read(size * count)
    kinds = [struct.unpack_from("<I", table, n * size)[0] for n in range(len(table) // size)]
    return 2 in kinds and 3 not in kinds  # PT_DYNAMIC and no PT_INTERP


def said(path):
    read, write = os.pipe()
    if os.fork() == 0:
        text = ""
        try:
            ctypes.CDLL(path, mode=os.RTLD_NOW)
        except OSError as e:
            text = str(e)
        os.write(write, text.encode(errors="replace"))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, errors="replace") as f:
        text = f.read()
    status = os.wait()[1]
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else text


root = os.path.abspath(sys.argv[1])
result = {}
for folder, _, files in os.walk(root):
    for name in files:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path) and shared(path):
            result[os.path.relpath(path, root)] = said(path).replace(root, "")
print(json.dumps(result))
