// Llvmdiff compares what compat and LLVM's tools read from the Mach-O and PE files of wheels:
// needed libraries with their versions, and imported symbols with their library.
//
//	go run ./internal/test/llvmdiff [-wheels LIST] [-cache DIR] COMPAT [WHEEL...]
//
// LIST names wheels, one per line: the platform and the Python release for pip, and the
// requirement. They are downloaded to DIR. Each difference is printed on a line; the exit code is
// 1 if there are any.
//
// Mach-O: the libraries of `compat facts` must be those of `llvm-otool -L`, with versions and
// weakness. The direct dependencies in `compat ldd` must be the same, except that weak ones may
// be missing and two paths may lead to one file. The imports must be those of `llvm-objdump
// --bind --lazy-bind --weak-bind` or `--chained-fixups`, and include the undefined symbols of
// `compat ldd`. PE: the same with `llvm-readobj --coff-imports`.
package main

import (
	"archive/zip"
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
)

func main() {
	list := flag.String("wheels", "", "file that lists wheels to download")
	cache := flag.String("cache", filepath.Join(os.TempDir(), "compat-llvmdiff"), "folder for them")
	flag.Parse()
	if flag.NArg() < 1 {
		fmt.Fprintln(os.Stderr, "usage: llvmdiff [-wheels LIST] [-cache DIR] COMPAT [WHEEL...]")
		os.Exit(2)
	}
	differences, err := run(flag.Arg(0), *list, *cache, flag.Args()[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "llvmdiff:", err)
		os.Exit(2)
	}
	if differences > 0 {
		os.Exit(1)
	}
}

func run(compat, list, cache string, wheels []string) (differences int, err error) {
	if list != "" {
		more, err := download(list, cache)
		if err != nil {
			return 0, err
		}
		wheels = append(wheels, more...)
	}
	c := &comparison{compat: compat}
	if c.compat, err = filepath.Abs(compat); err != nil {
		return 0, err
	}
	for _, w := range wheels {
		if err := c.wheel(w); err != nil {
			return 0, fmt.Errorf("%s: %w", w, err)
		}
	}
	fmt.Printf("%d wheels, %d Mach-O slices, %d PE files, %d libraries, %d imports: %d differences\n",
		len(wheels), c.slices, c.pe, c.libraries, c.imports, c.differences)
	return c.differences, nil
}

// download returns the paths of the wheels in a list.
func download(list, cache string) ([]string, error) {
	f, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("%s: %q is not PLATFORM PYTHON REQUIREMENT", list, lines.Text())
		}
		dir := filepath.Join(cache, strings.Join(words, "-"))
		found, err := filepath.Glob(filepath.Join(dir, "*.whl"))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			abi := "cp" + strings.ReplaceAll(words[1], ".", "")
			pip := exec.Command("python3", "-m", "pip", "download", "-q",
				"--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
				"--implementation", "cp", "--platform", words[0], "--python-version", words[1],
				"--abi", abi, "--abi", "abi3", "--abi", "none", "-d", dir, words[2])
			if text, err := pip.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", words[2], err, text)
			}
			if found, err = filepath.Glob(filepath.Join(dir, "*.whl")); err != nil {
				return nil, err
			}
		}
		out = append(out, found...)
	}
	return out, nil
}

// comparison counts the comparisons.
type comparison struct {
	compat string
	at     string // the wheel and the file that are compared

	slices, pe, libraries, imports, differences int
}

func (c *comparison) differs(format string, a ...any) {
	c.differences++
	fmt.Printf("%s: %s\n", c.at, fmt.Sprintf(format, a...))
}

// lists compares two lists, ignoring order and repetition.
func (c *comparison) lists(what string, compat, llvm []string) {
	for _, s := range compat {
		if !slices.Contains(llvm, s) {
			c.differs("%s: only compat has %q", what, s)
		}
	}
	for _, s := range llvm {
		if !slices.Contains(compat, s) {
			c.differs("%s: only LLVM has %q", what, s)
		}
	}
}

// sorted compares two long lists, ignoring order and repetition.
func (c *comparison) sorted(what string, compat, llvm []string) {
	slices.Sort(compat)
	slices.Sort(llvm)
	compat, llvm = slices.Compact(compat), slices.Compact(llvm)
	if !slices.Equal(compat, llvm) {
		c.lists(what, compat, llvm)
	}
}

// wheel unpacks a wheel and compares its binaries.
func (c *comparison) wheel(wheel string) error {
	dir, err := os.MkdirTemp("", "llvmdiff-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close()
	var macho, pe []string
	for _, m := range z.File {
		head, err := unpack(m, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		switch ext := strings.ToLower(filepath.Ext(m.Name)); {
		case machoobj.Is([]byte(head)):
			macho = append(macho, m.Name)
		case strings.HasPrefix(head, "MZ") && slices.Contains([]string{".dll", ".pyd", ".exe"}, ext):
			pe = append(pe, m.Name)
		}
	}
	for _, name := range macho {
		c.at = filepath.Base(wheel) + ": " + name
		if err := c.machO(dir, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(pe) > 0 {
		return c.windows(filepath.Base(wheel), dir, pe)
	}
	return nil
}

// unpack writes a member of a wheel below a directory and returns its first bytes.
func unpack(m *zip.File, dir string) (head string, err error) {
	if strings.HasSuffix(m.Name, "/") || !filepath.IsLocal(m.Name) {
		return "", nil
	}
	to := filepath.Join(dir, filepath.FromSlash(m.Name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	r, err := m.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return "", err
	}
	defer w.Close()
	if _, err := io.Copy(w, r); err != nil {
		return "", err
	}
	b := make([]byte, 8)
	if _, err := w.ReadAt(b, 0); err != nil && err != io.EOF {
		return "", err
	}
	return string(b), nil
}

// output runs a program and returns its output.
func output(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	b, err := c.Output()
	if err != nil {
		text := ""
		if e, ok := err.(*exec.ExitError); ok {
			text = string(e.Stderr)
		}
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, text)
	}
	return string(b), nil
}
