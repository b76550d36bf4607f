package docgen

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/buildlog"
)

// trouble is a message that people search for, with what it means.
type trouble struct {
	title   string // the part that is the same for everyone
	message string // as it is printed
	meaning string
	rule    string // of the finding before the message can occur; "" = there is none
}

var troubles = []trouble{
	{"version `GLIBC_2.34' not found",
		"ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by " +
			"/venv/lib/python3.11/site-packages/widget/_core.so)",
		"The file was built on a system whose C library is newer than that of the system where it runs. " +
			"A wheel with the correct tag is not installed there, so its tag is wrong too.",
		"symbol-version-too-new"},
	{"version `GLIBCXX_3.4.32' not found",
		"ImportError: /usr/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found " +
			"(required by /venv/lib/python3.11/site-packages/widget/_core.so)",
		"The same for the C++ library: it was built with a newer GCC than the one that the system's " +
			"libstdc++ belongs to. An older libstdc++ of conda or of another package that was loaded " +
			"first has the same effect.",
		"symbol-version-too-new"},
	{"undefined symbol: _ZN3c10…",
		"ImportError: /venv/lib/python3.11/site-packages/widget/_core.so: undefined symbol: " +
			"_ZN3c104impl8GPUTrace13gpuTraceStateE",
		"The file was built against another version of a library than the one that is installed, here " +
			"torch: that version lacks the function. The name is mangled C++; `c++filt` shows it.",
		"undefined-symbol"},
	{"cannot open shared object file: No such file or directory",
		"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
		"A library that the file needs is not installed, or is in a folder that is not searched. The " +
			"number after .so is part of the name: another major version does not help.",
		"library-not-found"},
	{"DLL load failed while importing: The specified module could not be found",
		"ImportError: DLL load failed while importing _core: The specified module could not be found.",
		"Windows does not find a DLL that the module needs. The message names the module, not the DLL: " +
			"`compat check` on the wheel names the DLL.",
		"library-not-found"},
	{"DLL load failed while importing: The specified procedure could not be found",
		"ImportError: DLL load failed while importing _core: The specified procedure could not be found.",
		"The DLL was found, but it is another version: a function that the module imports is not in it.",
		"undefined-symbol"},
	{"Library not loaded: @rpath/…",
		"ImportError: dlopen(/venv/widget/_core.cpython-312-darwin.so, 0x0002): Library not loaded: " +
			"@rpath/libfoo.1.dylib",
		"macOS does not find a library that the file needs. It was on the machine that built the wheel, " +
			"and was not copied into the wheel.",
		"library-not-found"},
	{"Symbol not found: _…",
		"ImportError: dlopen(/venv/widget/_core.so, 0x0002): Symbol not found: (_clock_gettime)",
		"The macOS that runs the file is older than the one that it was built for, or a library is " +
			"another version.",
		"minimum-os-too-new"},
	{"mach-o file, but is an incompatible architecture",
		"ImportError: dlopen(/venv/widget/_core.so, 0x0002): tried: '/venv/widget/_core.so' (mach-o " +
			"file, but is an incompatible architecture (have 'x86_64', need 'arm64'))",
		"The file is for Intel and the Python for Apple silicon, or the other way round.",
		"wrong-architecture"},
	{"wrong ELF class: ELFCLASS32",
		"ImportError: /venv/widget/_core.so: wrong ELF class: ELFCLASS32",
		"The file is for a 32-bit system.",
		"wrong-architecture"},
	{"cannot enable executable stack as shared object requires",
		"OSError: /venv/widget/libfoo.so: cannot enable executable stack as shared object requires: " +
			"Invalid argument",
		"The file asks for a stack whose content can be executed. glibc 2.41 and some kernels refuse it. " +
			"The request is mostly an accident of an assembler source.",
		"executable-stack"},
	{"Error relocating …: symbol not found",
		"ImportError: Error relocating /usr/lib/python3.12/site-packages/widget/_core.so: __printf_chk: " +
			"symbol not found",
		"A file that was built for glibc runs on Alpine, whose C library is musl.",
		"undefined-symbol"},
	{"is not a supported wheel on this platform",
		"ERROR: widget-1.0-cp312-cp312-manylinux_2_34_x86_64.whl is not a supported wheel on this " +
			"platform.",
		"pip compares the tags in the file name with those of this Python and system. Nothing in the " +
			"wheel was read.",
		"tag-excludes-platform"},
	{"because of the presence of too-recent versioned symbols",
		"auditwheel: error: cannot repair \"widget-1.0-cp312-cp312-linux_x86_64.whl\" to " +
			"\"manylinux2014_x86_64\" ABI because of the presence of too-recent versioned symbols. You'll " +
			"need to compile the wheel on an older toolchain.",
		"The wheel needs symbols that systems of this tag do not have. `compat check --platform " +
			"manylinux2014 dist/*.whl` names them, and the files that need them.",
		"symbol-version-too-new"},
	{"undefined reference to `dlopen'",
		"/usr/bin/ld: libfoo.so: undefined reference to `dlopen'",
		"A library calls a function and does not name the library that has it. The build of the library " +
			"succeeds, and each program that links it fails on systems older than glibc 2.34.",
		"link-undefined-reference"},
	{"cannot find -lfoo",
		"/usr/bin/ld: cannot find -lfoo: No such file or directory",
		"The linker needs libfoo.so or libfoo.a, which the development package of the library has. A " +
			"file libfoo.so.1 is not enough.",
		"link-library-not-found"},
	{"A module that was compiled using NumPy 1.x cannot be run in NumPy 2",
		"A module that was compiled using NumPy 1.x cannot be run in NumPy 2.2.1 as it may crash.",
		"A package was built against NumPy 1 and does not say that it needs it. The lines before this one " +
			"name the package.",
		"numpy-abi-mismatch"},
	{"numpy.dtype size changed, may indicate binary incompatibility",
		"ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C " +
			"header, got 88 from PyObject",
		"A package was built against another major version of NumPy than the one that is installed.",
		"numpy-abi-mismatch"},
	{"CUDA error: no kernel image is available for execution on the device",
		"RuntimeError: CUDA error: no kernel image is available for execution on the device",
		"The file has code for other GPUs than the one in this machine. `compat facts FILE` lists them.",
		"gpu-arch-missing"},
	{"The detected CUDA version mismatches the version that was used to compile PyTorch",
		"RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to compile " +
			"PyTorch (12.4). Please make sure to use the same CUDA versions.",
		"An extension of torch is built with the CUDA toolkit of this machine, which has another major " +
			"version than the one that the installed torch was built with.",
		"gpu-stack-mismatch"},
	{"cannot allocate memory in static TLS block",
		"ImportError: /lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS block",
		"A library with variables of the initial-exec model was loaded late, when the room for them was " +
			"used up. It depends on what was imported before.",
		""},
	{"Illegal instruction (core dumped)",
		"Illegal instruction (core dumped)",
		"A file has instructions that this processor does not have, often because of -march=native.",
		"isa-level"},
}

// Troubleshooting returns the page with the answers to messages that people search for. Fixes are
// those of `compat explain`, so a message without a diagnosis is an error.
func Troubleshooting() (string, error) {
	var b strings.Builder
	b.WriteString(`# Troubleshooting

Search this page for the message that you see. Each answer has what the message means, what helps, and how to find the
problem before users do. For your own message, with your own names, paste it:

    compat explain build.log                   # or paste it: compat explain, then Ctrl-D
    compat explain build.log dist/*.whl        # also checks whether these files have the problem

`)
	for _, t := range troubles {
		fmt.Fprintf(&b, "- [%s](#%s)\n", code(t.title), anchor(t.title))
	}
	for _, t := range troubles {
		result, err := buildlog.Read(strings.NewReader(t.message + "\n"))
		if err != nil {
			return "", err
		}
		if len(result.Diagnoses) != 1 || len(result.Diagnoses[0].Fixes) == 0 {
			return "", fmt.Errorf("%d diagnoses of %q", len(result.Diagnoses), t.message)
		}
		fmt.Fprintf(&b, "\n<a id=%q></a>\n\n## %s\n\n```text\n%s\n```\n\n%s\n\n", anchor(t.title),
			code(t.title), strings.Join(folded(t.message), "\n"), strings.Join(folded(t.meaning), "\n"))
		for _, f := range result.Diagnoses[0].Fixes {
			b.WriteString("- " + strings.Join(folded(f.Title.String()), "\n  ") + "\n")
			if f.Command != "" && !f.ShowsCommand() {
				b.WriteString("\n  ```sh\n  " + strings.ReplaceAll(string(f.Command), "\n", "\n  ") + "\n  ```\n\n")
			}
		}
		if t.rule != "" {
			fmt.Fprintf(&b, "\n`compat check` finds it in the file: [%s](rules/%s.md).\n", t.rule, t.rule)
		}
	}
	return strings.ReplaceAll(b.String(), "\n\n\n", "\n\n"), nil
}

// code returns a text that may contain one backtick as code.
func code(s string) string {
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// anchor returns the letters and digits of a title, with dashes between words.
func anchor(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// folded returns a text in lines of at most 110 characters.
func folded(s string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len(line)+1+len(word) > 110 {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
