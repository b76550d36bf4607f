"""Imports an installed distribution, and opens each of its shared objects.

    python probe.py DISTRIBUTION [--no-import]

Each line of the output is a JSON object: {"import": MODULE, "error": TEXT} or
{"object": PATH, "error": TEXT}, with "" for no error. An object is opened with RTLD_NOW in a
process of its own, which is forked after the imports; an extension module is imported there.
"""

import ctypes
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import mmap
import os
import re
import signal
import struct
import subprocess
import sys
import sysconfig

LIMIT = 60  # seconds for an import or an object


def report(**row):
    os.write(3, (json.dumps(row) + "\n").encode())


def shared(path):
    """Whether a file is a shared object for this machine, and no program."""
    with open(path, "rb") as f:
        head = f.read(64)
        if head[:4] != b"\x7fELF" or len(head) < 64:
            return False
        with open(sys.executable, "rb") as own:
            mine = own.read(20)
        kind, = struct.unpack_from("<H", head, 16)
        if head[4:6] != mine[4:6] or head[18:20] != mine[18:20] or kind != 3:
            return False
        at, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        f.seek(at)
        table = f.read(size * count)
    kinds = [struct.unpack_from("<I", table, n * size)[0] for n in range(len(table) // size)]
    return 2 in kinds and 3 not in kinds  # PT_DYNAMIC and no PT_INTERP


def module_name(path, where=None):
    """The name of an extension module for this interpreter; None for other files. A plain library
    may have a module's suffix, .so; without the hook of a module in the file it is none."""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        if path.endswith(suffix):
            name = path[: -len(suffix)].replace("/", ".")
            if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
                return None
            if suffix == ".so" and where:
                with open(where, "rb") as f:
                    hook = b"\0PyInit_" + name.rpartition(".")[2].encode() + b"\0"
                    with mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as content:
                        return name if content.find(hook) >= 0 else None
            return name
    return None


def fails(act):
    """The error of an action in a forked process, "" for none."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        text = ""
        try:
            signal.alarm(LIMIT)
            act()
        except BaseException as e:
            text = f"{type(e).__name__}: {e}"
        os.write(write, text.encode(errors="replace")[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, errors="replace") as f:
        text = f.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return text


def preloads(path):
    """Whether a process starts with a library in LD_PRELOAD."""
    env = {**os.environ, "LD_PRELOAD": path}
    python = [sys.executable, "-S", "-c", ""]
    r = subprocess.run(python, env=env, capture_output=True, timeout=LIMIT)
    return r.returncode == 0 and b"cannot be preloaded" not in r.stderr


def loads(others, path):
    """Fails unless opening one of the other objects loads this one too."""
    for _, where in others:
        if where != path:
            try:
                ctypes.CDLL(where, mode=os.RTLD_NOW)
            except OSError:
                pass
    ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_NOLOAD)


def alone(name, path):
    """Runs an extension module without the packages that its name is in."""
    spec = importlib.util.spec_from_file_location(name, path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def for_other_python(path, paths):
    """Whether a library is one of several for versions of Python, of which code opens the one of
    the interpreter: libshim_3.13.so."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = re.search(r"(?<![\d.])3\.\d+(?=\.so$)", path)
    return bool(found) and found[0] != version and path[: found.start()] + version + ".so" in paths


def main():
    os.set_inheritable(3, False)  # an import may start programs
    files = importlib.metadata.files(sys.argv[1]) or []
    tops, objects, bundled = [], [], {os.path.basename(str(f)) for f in files}
    foreign = re.compile(r"\.(cpython-\d+|pypy\d+)[-\w]*\.so$")
    own = sysconfig.get_config_var("EXT_SUFFIX")
    paths = {str(f) for f in files}
    for f in files:
        path, parts = str(f), f.parts
        if path.endswith("/__init__.py") and len(parts) == 2:
            tops.append(parts[0])
        where = str(f.locate())
        if len(parts) == 1 and os.path.isfile(where) and module_name(path, where):
            tops.append(module_name(path))
        if os.path.isfile(where) and not os.path.islink(where) and shared(where):
            other = foreign.search(path) and not path.endswith(own)
            if not other and not for_other_python(path, paths):
                objects.append((path, where))
    if "--no-import" not in sys.argv:
        tests = ("test", "tests")
        for name in dict.fromkeys(t for t in tops if t.isidentifier() and t not in tests):
            report(begin=name)
            text = ""
            try:
                signal.alarm(LIMIT)
                importlib.import_module(name)
            except BaseException as e:
                text = f"{type(e).__name__}: {e}"
            signal.alarm(0)
            report(**{"import": name, "error": text[:4000]})
    for path, where in objects:
        text = fails(lambda: ctypes.CDLL(where, mode=os.RTLD_NOW))
        name = module_name(path, where)
        missing = re.search(r"(\S+): cannot open shared object", text)
        if missing and not name and any(b.startswith(missing[1]) for b in bundled):
            text = ""  # only modules load it, whose run paths lead to what it needs
        if missing and not name and text and not fails(lambda: loads(objects, where)):
            text = ""  # the run paths of an object that needs it lead to what it needs
        if "undefined symbol" in text and not name and path.split("/")[0].endswith(".libs"):
            text = ""  # only modules load it, with the library that has the symbol
        if "static TLS block" in text and not name and preloads(where):
            text = ""  # it is loaded when the process starts, which has room for it
        if not text and name:
            text = fails(lambda: importlib.import_module(name))
            if text:  # perhaps because of the package that it is in
                text += "\nalone: " + fails(lambda: alone(name, where))
        if "multiarray" in text and not importlib.util.find_spec("numpy"):
            text = ""  # NumPy is optional and not installed
        report(object=path, error=text)


main()
