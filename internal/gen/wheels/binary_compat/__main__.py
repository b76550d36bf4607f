"""Run the program compat that is installed with this package."""

import os
import subprocess
import sys
import sysconfig


def program():
    """Return the path of the program: in the scripts folder of the interpreter, of the user, or
    of the folder that this package was installed into with --target or --prefix."""
    name = "compat" + (".exe" if os.name == "nt" else "")
    target = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    user = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else os.name + "_user"
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=user),
        os.path.join(target, "bin"),
        os.path.normpath(os.path.join(target, "..", "..", "..", "bin")),
    ]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    sys.exit("binary-compat: the program compat is missing; reinstall the package")


def main():
    path = program()
    if os.name == "nt":
        sys.exit(subprocess.call([path, *sys.argv[1:]]))
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
