package windows

import (
	"strconv"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// PythonDLL describes the DLL of an interpreter, from its name.
type PythonDLL struct {
	Release      string // "3.12"; "3" for python3.dll, which has the stable ABI
	FreeThreaded bool   // python313t.dll
	Debug        bool   // python312_d.dll
}

// Stable reports whether it is python3.dll or python3t.dll.
func (p PythonDLL) Stable() bool { return p.Release == "3" }

var pythonName = lazyregexp.New(`^python(2|3)(\d{0,2})(t?)(_d)?\.dll$`)

// ParsePython parses the name of a DLL, in lower case.
func ParsePython(name string) (PythonDLL, bool) {
	m := pythonName.FindStringSubmatch(name)
	if m == nil || m[1] == "2" && m[2] == "" {
		return PythonDLL{}, false
	}
	p := PythonDLL{Release: m[1], FreeThreaded: m[3] != "", Debug: m[4] != ""}
	if m[2] != "" {
		p.Release += "." + m[2]
	}
	return p, true
}

// Interpreter is CPython as installed from python.org. The data below is assumed to be the same for
// conda, uv and NuGet. It does not describe PyPy, debug builds, and Python 2 before 2.7.
type Interpreter struct {
	Minor        int // of Python 3; 0 is Python 2.7
	FreeThreaded bool
}

// DLL returns the name of the interpreter's DLL: "python312.dll".
func (i Interpreter) DLL() string {
	if i.Minor == 0 {
		return "python27.dll"
	}
	t := ""
	if i.FreeThreaded {
		t = "t"
	}
	return "python3" + strconv.Itoa(i.Minor) + t + ".dll"
}

// Windows returns the oldest version of Windows that it supports on a machine (PEP 11 and release
// notes). The versions of 3.5 to 3.7 are taken to be the same. Tags say nothing about the version
// of Windows. The first for arm64 is Windows 10 version 1709.
func (i Interpreter) Windows(machine string) string {
	switch {
	case machine == "arm64":
		return "10.0.16299"
	case i.Minor >= 13:
		return "10.0.10240"
	case i.Minor >= 9:
		return "6.3"
	case i.Minor == 8:
		return "6.1"
	case i.Minor >= 5:
		return "6.0"
	}
	return "5.1"
}

// Installs reports whether the installer puts a DLL, named in lower case, next to python.exe on a
// machine. The Visual C++ runtimes agree with those that delvewheel leaves out of wheels
// (ignore_by_abi_platform in its _dll_list.py). Versions of the runtimes are not known. Other DLLs
// of an installation, such as those in its DLLs folder, are Absent, because only Python's own
// modules find them.
func (i Interpreter) Installs(name, machine string) Presence {
	switch name {
	case "vcruntime140.dll":
		return present(i.Minor >= 5)
	case "vcruntime140_1.dll":
		// exceptions of 64-bit programs, since Visual C++ 2019
		return present(i.Minor >= 9 && (machine == "amd64" || machine == "arm64"))
	case "msvcr100.dll":
		return present(i.Minor == 3 || i.Minor == 4)
	case "msvcr90.dll":
		return present(i.Minor == 0)
	case "python3.dll":
		return present(i.Minor >= 3 && !i.FreeThreaded)
	case "python3t.dll":
		return present(i.Minor >= 15) // of default builds too (PEP 803)
	case i.DLL():
		return Present
	}
	return Absent
}

func present(yes bool) Presence {
	if yes {
		return Present
	}
	return Absent
}
