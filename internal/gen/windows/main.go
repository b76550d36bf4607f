// Command windows makes the embedded tables of analyzer/platform/windows: the DLLs of Windows, and
// what some of them export since when.
//
// It reads the module definition files (.def) of mingw-w64 in the PyPI package ziglang, which has
// them in lib/libc/mingw. They have no list of the DLLs of a release of Windows; names of DLLs are
// taken from them, names of functions for DLLs in the list `whole`, and the first release that has
// a function where a comment above it says so. They have no information on removed DLLs and functions.
//
//	windows -wheel ziglang-0.17.1-….whl -out FOLDER
//
// Without -wheel it makes the table of what CPython exports on Windows for analyzer/cpython, from
// archives that have python3XX.dll, such as the jars of org.bytedeco:cpython with the classifier
// windows-x86_64. The table has only the releases that were given, each in one patch release and
// for x86-64, without free-threaded and debug builds.
//
//	windows -out FOLDER cpython-3.11.3-1.5.9-windows-x86_64.jar…
package main

import (
	"archive/zip"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/symboltable"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "windows:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("windows", flag.ContinueOnError)
	wheel := flags.String("wheel", "", "the wheel of ziglang")
	out := flags.String("out", "data", "folder of the tables")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *wheel == "" {
		text, err := python(flags.Args())
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(*out, "windows.txt"), []byte(text), 0o644)
	}
	files, err := definitions(*wheel)
	if err != nil {
		return err
	}
	from := path.Base(*wheel)
	text := dlls(files, from)
	if err := os.WriteFile(filepath.Join(*out, "dlls.txt"), []byte(text), 0o644); err != nil {
		return err
	}
	text, err = exports(files, whole, from)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(*out, "exports.txt"), []byte(text), 0o644)
}

// machines are those of each folder of definitions. Those of lib64 are taken for amd64 and arm64
// alike, so a DLL that only one of them has counts as being on both.
var machines = map[string][]string{
	"lib-common": {"x86", "amd64", "arm64", "arm"},
	"lib32":      {"x86"},
	"lib64":      {"amd64", "arm64"},
	"libarm32":   {"arm"},
}

// definition is one .def file.
type definition struct {
	folder, name, text string // the name without .def, .in
}

var definitionName = regexp.MustCompile(
	`/mingw/(lib-common|lib32|lib64|libarm32|def-include)/([^/]+)\.def(\.in)?$`,
)

// definitions reads them from the wheel.
func definitions(wheel string) ([]definition, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var out []definition
	for _, f := range z.File {
		m := definitionName.FindStringSubmatch(f.Name)
		if m == nil {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, err
		}
		out = append(out, definition{m[1], m[2], string(b)})
	}
	if len(out) < 1000 {
		return nil, fmt.Errorf("%s has %d definitions, which can't be all", wheel, len(out))
	}
	return out, nil
}

// whole are the DLLs whose definitions are complete, by a comparison with the imports of 30 wheels:
// no release exports what they do not list. Those of kernel32 and the next two also have the first
// release of each function.
var whole = []string{
	"kernel32", "ntdll", "advapi32", "user32", "gdi32", "ws2_32", "ucrtbase", "vcruntime140",
}

// others are names in the definitions that are not part of Windows 10 and 11: DLLs of other
// projects and of Visual Studio, and names that are not those of files.
var others = []string{
	"glut.dll", "glut32.dll", "hgfs.dll", "vmx_mode.dll", "exports.dll", "dll.dll", "official.dll",
	"module.dll",
	"cap.dll", "log.dll", "snapin.dll", "script.dll", "fm20.dll", "atl110.dll", "ucrtbased.dll",
	"vcruntime140.dll",
	"vcruntime140d.dll", "vcruntime140_app.dll", "nvencodeapi.dll", "nvd3dum.dll", "nvcameraisp.dll",
	"nvcameraispb.dll", "d3dcompiler.dll", "ctl3d32.dll", "connect.dll", "input.dll",
}

// dlls writes the table of the machines that have each DLL.
func dlls(files []definition, from string) string {
	on := map[string][]string{}
	for _, d := range files {
		if d.folder == "def-include" || strings.HasSuffix(d.name, "_windowsapp") ||
			strings.HasSuffix(d.name, "-common") {
			continue
		}
		name := strings.ToLower(d.name)
		if m := library.FindStringSubmatch(d.text); m != nil && strings.Contains(m[1], ".") {
			name = strings.ToLower(m[1])
		} else {
			name += ".dll"
		}
		if slices.Contains(others, name) {
			continue
		}
		if !strings.HasSuffix(name, ".dll") && !strings.HasSuffix(name, ".drv") &&
			!strings.HasSuffix(name, ".cpl") {
			continue
		}
		for _, m := range machines[d.folder] {
			if !slices.Contains(on[name], m) {
				on[name] = append(on[name], m)
			}
		}
	}
	fields := map[string]string{}
	for name, machines := range on {
		slices.Sort(machines)
		fields[name] = strings.Join(machines, " ")
	}
	return symboltable.Format("DLLs of Windows, by the machines that have them, from "+from, fields)
}

var library = regexp.MustCompile(`(?m)^LIBRARY\s+"?([^"\s]+)"?`)
