// Command providers checks analyzer/platform/data/providers.txt against the packages of Debian:
// each package that the table names must contain its libraries.
//
//	go run ./internal/gen/providers FILE
//
// It downloads the packages with the apt of the machine, so it checks the release that apt is
// configured for, and reads their lists of files with dpkg-deb. It changes nothing. Packages that
// the release does not have are counted and skipped. The exit code is 1 if a package lacks a
// library.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a package with the libraries that it has to contain.
type entry struct {
	name      string
	libraries []string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: providers FILE")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	bad, absent := 0, 0
	for _, e := range entries(string(text)) {
		files, err := contents(e.name)
		if err != nil {
			absent++
			continue
		}
		for _, l := range e.libraries {
			if !contains(files, l) {
				bad++
				fmt.Printf("%s does not contain %s\n", e.name, l)
			}
		}
	}
	fmt.Printf("%d wrong, %d packages not in this release\n", bad, absent)
	if bad > 0 {
		os.Exit(1)
	}
}

// entries lists the Debian packages of the table that name full libraries.
func entries(text string) []entry {
	var out []entry
	for line := range strings.Lines(text) {
		c := strings.Split(strings.TrimSpace(line), "|")
		if len(c) != 4 || strings.HasPrefix(line, "#") {
			continue
		}
		libraries := slices.DeleteFunc(strings.Fields(c[0]), func(p string) bool {
			return strings.Contains(p, "*") || !strings.Contains(p, ".so")
		})
		for _, w := range strings.Fields(c[3]) {
			name, list, _ := strings.Cut(w, "=")
			if name != "debian" && name != "debian13" || list == "?" || list == "-" ||
				len(libraries) == 0 {
				continue
			}
			for _, p := range strings.Split(list, ",") {
				out = append(out, entry{p, libraries})
			}
		}
	}
	return out
}

// contents lists the files of a package. It returns an error if apt does not have it.
func contents(name string) ([]string, error) {
	dir, err := os.MkdirTemp("", "providers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	get := exec.Command("apt-get", "download", "-q", name)
	get.Dir = dir
	if out, err := get.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, out)
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) != 1 {
		return nil, fmt.Errorf("%s: %d packages, %w", name, len(debs), err)
	}
	list, err := exec.Command("dpkg-deb", "--fsys-tarfile", debs[0]).Output()
	if err != nil {
		return nil, err
	}
	tar := exec.Command("tar", "-t")
	tar.Stdin = strings.NewReader(string(list))
	names, err := tar.Output()
	return strings.Fields(string(names)), err
}

func contains(files []string, library string) bool {
	return slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == library })
}
