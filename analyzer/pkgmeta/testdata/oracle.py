#!/usr/bin/env python3
"""oracle.py: writes versions.txt, specs.txt, markers.txt and requirements.txt, in which the tests read what `packaging` decides.

Run in this folder with packaging 26.3 installed. Fields are separated by tabs.
"""
import itertools, random
from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

VERSIONS = """0 0.0 0.1 1 1.0 1.0.0 1.0.1 1.1 1.10 2.0 12.8.93 12.9 12.9.0 12.9.41 12.9.86 13.0.39 2.6.0 2.6.0+cu124 2.6.0+cu126 2.6.0+cpu 2.6.0+rocm6.2.4
2.6.1 2.7.0 1.0a1 1.0.a1 1.0alpha1 1.0b2 1.0rc1 1.0c1 1.0.dev0 1.0.dev1 1.0a1.dev2 1.0rc1.post3 1.0.post1 1.0-1 1.0.post1.dev4 1.0.post 1.0rev2 1.0+local
1.0+local.1 1.0+1 1.0+1.a 1.0+A-b_3 1!1.0 1!0.5 2!1.0 v1.0 1.0-rc.1 2.0rc1 2.0.dev20240101 2024.1.1 1.2.3.4.5 1.0.0.0.1 0.1.3.2.0.dev438 6.2.0b1 2.6.0rc1+cu124
2.6.0.post1+cu124 1.0+01 1.0+10 1.0+9 1.0+9a""".split()
BAD_VERSIONS = ["", "x", "1.", ".1", "1..0", "1.0+", "1.0+a+b", "1.0x", "1.0 0", "1.0-", "1.0a1b1", "1.0.dev1.post1", "1!", "!1", "latest", "1.0+ä", "1,0"]
SPECS = """>=12.9 >12.9 <12.9 <=12.9 ==12.* !=12.* ==12.9.* ==12.9.86 ~=12.9 ~=12.9.41 ==2.6.0 ==2.6.0+cu124 !=2.6.0 !=2.6.0+cu124 ===2.6.0 ===2.6.0+cu124 ===1.0
>=2.6.0 <=2.6.0 >2.6.0 <2.6.0 ==2.6 ==2.6.* ==1.0 ==1 ==1.* ==1.0.* !=1.0 !=1.* >1.0 <1.0 >=1.0 <=1.0 >1.0rc1 <1.0rc1 >=1.0rc1 <=1.0rc1 ==1.0rc1 ~=1.0rc1 ~=1.0 ~=1.0.0 ~=1.1
>1.0.post1 <1.0.post1 >=1.0.post1 <=1.0.post1 ==1.0.post1 ~=1.0.post1 >1.0.dev0 <1.0.dev1 >=1.0.dev0 ==1.0.dev1 ==1!1.0 ==1!1.* >=1!0 <1!1 ~=1!1.0 >=1,<2 >=1.0,!=1.0.1,<1.10
>=1.0,>=2.0rc1 >=2.0.dev0 !=2.0rc1 !=1.0rc1 ==1.0+local ==1.0+1 >=0 <1 >0 ==0.* >=2024 ==1.0.0.0.1 >=1.0a1.dev2 ~=2.6.0 ~=6.2.0b0 >=1.0, ,>=1.0 <=1.0.post1.dev4 >1.0.post1.dev4 >1.0rc1.post3
<1.0rc1.post3 >1.0a1 ==v1.0 >=v1.0 ~=1.0.dev1""".split() + ["", " >= 1.0 , < 2 ", "== 2.6.0", ">=12.1,<13"]
BAD_SPECS = ["1.0", "=1.0", "=>1.0", ">=1.*", "<1.*", "~=1", "~=1.*", "~=1.0+x", ">=1.0+x", "<=1.0+x", "==1.0rc1.*", "==1.0.post1.*", "==1.0.dev1.*", "==1.0+x.*", ">=", "==*", ">=1.0 <2",
             ">=1.0;", "~1.0", "^1.0", ">=1.0 || <2", "===1 2", "!1"]
ENVS = {"3.8": "x86_64", "3.12": "x86_64", "3.12.4": "aarch64"}
MARKERS = ['python_version >= "3.9"', 'python_version < "3.10"', "python_version=='3.12'", 'python_version in "3.8 3.9"', 'python_version not in "3.12"', '"3.9" <= python_version', "'3.12' == python_version",
           'python_version ~= "3.8"', 'python_version == "3.*"', 'python_version != "3.8.*"', 'python_version === "3.12"', 'python_full_version >= "3.12.1"', 'python_full_version < "3.11.0a6"',
           'platform_system == "Linux"', 'platform_system == "Linux" and platform_machine == "x86_64"', 'platform_machine != "aarch64"', 'sys_platform == "win32" or os_name == "posix"',
           'sys_platform != "win32" and (platform_machine == "arm64" or platform_machine == "aarch64")', 'sys_platform == "darwin" and os_name == "posix" or python_version > "3"',
           'extra == "cuda"', "extra == 'Dev_Tools'", 'extra == "cuda" and platform_system == "Linux"', 'extra != "cuda"', 'extra in "cuda dev"', '"cuda" == extra', 'extra >= "a"',
           'implementation_name == "cpython"', 'platform_python_implementation == "PyPy"', "python_implementation == 'CPython'", "os.name == 'posix'", "sys.platform == 'linux'", 'implementation_version >= "3.9"',
           'platform_release >= "5"', 'platform_machine > "x86"', 'platform_machine >= "x86_64"', 'platform_version ~= "1.0"', 'python_version >= "x"', 'python_version < "3,10"', 'platform_machine ~= "x86_64"', 'platform_machine === "x86_64"',
           '(python_version >= "3.9")', '((python_version>="3.9")and(os_name=="posix"))', 'python_version >= "3.9" and', 'python_version', '"a" == "b"', 'foo == "1"', 'python_version >= 3.9',
           'python_version => "3.9"', '(python_version >= "3.9"', 'python_version >= "3.9")', '', 'python_version >= "3.9" or or os_name == "nt"', 'not python_version >= "3"', 'python_version not  in "3.8"',
           'python_version >= "3.9', "python_version >= '3.9\"", 'platform_machine in "x86_64 AMD64"', 'sys_platform == "linux" and python_version == "3.8" or sys_platform == "linux" and python_version == "3.12"']
REQUIREMENTS = ["torch", "torch>=2.0", "torch >=2.0,<3", "torch (>=2.0)", "torch(>=2.0,<3)", "Torch_Vision.X==0.15", "nvidia-nvjitlink-cu12 ==12.6.85 ; platform_system == \"Linux\" and platform_machine == \"x86_64\"",
                "a[b]", "a[b,C_d] >=1", "a [ b , c ] >= 1 ; os_name == 'posix'", "a[]", "a[ ]", "a @ https://host.invalid/a-1.whl", "a[x]@file:///tmp/a ; os_name == 'nt'", "a @ https://host.invalid/a;b", "a==1.0+cu124", "a==1.*", "a~=1.4.2", "a===weird_thing",
                "a>=1,", "a;python_version<'3'", "a ;", ";;;", "[[[", "-r x", "a b", "a >", "a>=1.*", "a[b", "a[b c]", "a[,b]", "a[b,]", "a (>=1", "a >=1)", "a @", "a @ u v", "1a", "a-", "-a", "a.", "é", "a>=1 <2", "", " a ", "a==1;extra=='x'", "a!=1.5,>=1;python_version>='3.8'", "a()", "a ( )", "a===1.0 ; os_name == 'posix'",
                "cuda-bindings~=12.9.1", "torch==2.6.0+cu124"]


def fields(*xs):
    return "\t".join(str(x) for x in xs) + "\n"


with open("versions.txt", "w") as f:
    # ok TEXT NORMAL PRE LOCAL; bad TEXT; order of the distinct ones on the last line, equal ones joined by "=".
    for v in VERSIONS:
        x = Version(v)
        f.write(fields("ok", v, x, int(x.is_prerelease), x.local or ""))
    for v in BAD_VERSIONS:
        try:
            Version(v)
        except InvalidVersion:
            f.write(fields("bad", v))
        else:
            raise SystemExit(f"{v!r} is valid")
    order = sorted(VERSIONS, key=Version)
    f.write(fields("order", *("=".join(g) for _, g in itertools.groupby(order, key=Version))))

with open("specs.txt", "w") as f:
    # ok SPEC then for each version of versions.txt: c contained, a admitted only when it is there already, - neither; bad SPEC
    rnd = random.Random(1)
    plain = [s for s in SPECS if s.strip(" ,") and "===" not in s]
    for s in SPECS + [",".join(rnd.sample(plain, 2)) for _ in range(40)]:
        x = SpecifierSet(s)
        named = any(c.prereleases for c in x)
        f.write(fields("ok", s, "".join("c" if x.contains(v, prereleases=named) else "a" if x.contains(v, prereleases=True) else "-" for v in map(Version, VERSIONS))))
    for s in BAD_SPECS:
        try:
            SpecifierSet(s)
        except InvalidSpecifier:
            f.write(fields("bad", s))
        else:
            raise SystemExit(f"{s!r} is valid")

with open("markers.txt", "w") as f:
    # PYTHON MACHINE EXTRA MARKER true|false|undefined; bad MARKER
    for m in MARKERS:
        try:
            x = Marker(m)
        except InvalidMarker:
            f.write(fields("bad", m))
            continue
        for py, machine in ENVS.items():
            full = py if py.count(".") == 2 else py + ".0"
            env = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": machine, "platform_python_implementation": "CPython", "implementation_name": "cpython",
                   "implementation_version": full, "python_version": ".".join(py.split(".")[:2]), "python_full_version": full, "platform_release": "", "platform_version": ""}
            for extra in ("", "cuda", "dev-tools") if "extra" in m else ("",):
                try:
                    r = str(x.evaluate({**env, "extra": extra})).lower()
                except (UndefinedComparison, UndefinedEnvironmentName):
                    r = "undefined"
                f.write(fields(py, machine, extra, m, r))

with open("requirements.txt", "w") as f:
    # ok TEXT NAME EXTRAS SPECIFIERS(sorted) URL MARKED; bad TEXT
    for r in REQUIREMENTS:
        try:
            x = Requirement(r)
        except InvalidRequirement:
            f.write(fields("bad", r))
            continue
        f.write(fields("ok", r, canonicalize_name(x.name), ",".join(sorted(canonicalize_name(e) for e in x.extras)), ",".join(sorted(map(str, x.specifier))), x.url or "", int(x.marker is not None)))
