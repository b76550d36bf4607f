// Command cpythongen makes the embedded table of analyzer/cpython: which of its own symbols each
// release of CPython exports.
//
// It reads libpython of the releases of Debian and Ubuntu that have it, through the mirror that
// this machine's apt is configured for. Run it by `go generate ./analyzer/cpython`.
//
//	cpythongen -out FILE [-cache DIR]
//
// The same packages always give the same bytes; the first line of the table names them.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/apt"
	"github.com/compat-app/compat/internal/symboltable"
)

// source is where a release of CPython is packaged.
type source struct {
	version string // "3.11"
	suite   apt.Suite
	pkg     string // "" is libpython and the version
}

var sources = []source{
	{"2.7", apt.Suite{Mirror: "debian", Codename: "bullseye"}, ""},
	{"3.6", apt.Suite{Mirror: "ubuntu", Codename: "bionic", Updates: true}, ""},
	{"3.7", apt.Suite{Mirror: "ubuntu", Codename: "bionic", Updates: true, Universe: true}, ""},
	{"3.8", apt.Suite{Mirror: "ubuntu", Codename: "focal", Updates: true}, ""},
	{"3.9", apt.Suite{Mirror: "debian", Codename: "bullseye"}, ""},
	{"3.10", apt.Suite{Mirror: "ubuntu", Codename: "jammy", Updates: true}, ""},
	{"3.11", apt.Suite{Mirror: "debian", Codename: "bookworm"}, ""},
	{"3.12", apt.Suite{Mirror: "ubuntu", Codename: "noble", Updates: true}, "libpython3.12t64"},
	{"3.13", apt.Suite{Mirror: "debian", Codename: "trixie"}, ""},
	{"3.14", apt.Suite{Mirror: "ubuntu", Codename: "resolute", Updates: true}, ""},
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cpythongen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("cpythongen", flag.ContinueOnError)
	out := flags.String("out", filepath.Join("data", "exports.txt"), "file that is written")
	cache := flags.String(
		"cache",
		filepath.Join(os.TempDir(), "platformgen"),
		"directory for package lists and packages",
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	exports, from := map[string][]string{}, []string{}
	for _, s := range sources {
		if s.pkg == "" {
			s.pkg = "libpython" + s.version
		}
		index, err := apt.Open(ctx, *cache, s.suite, "amd64")
		if err != nil {
			return err
		}
		debs, err := index.Fetch(ctx, []string{s.pkg})
		if err != nil {
			return err
		}
		if debs[s.pkg] == "" {
			return fmt.Errorf("the mirror has no %s in %s", s.pkg, s.suite.Codename)
		}
		if exports[s.version], err = read(ctx, debs[s.pkg]); err != nil {
			return fmt.Errorf("%s: %w", s.pkg, err)
		}
		from = append(from, apt.Version(debs[s.pkg]))
	}
	text, err := table(exports, from)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, []byte(text), 0o644)
}

// read lists the symbols of Python's own that its library exports.
func read(ctx context.Context, deb string) (names []string, err error) {
	want := func(file string) bool {
		return strings.HasPrefix(path.Base(file), "libpython") &&
			strings.Contains(path.Base(file), ".so")
	}
	err = apt.Files(ctx, deb, want, func(_ string, content []byte) error {
		o, err := elfobj.Read(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return err
		}
		for _, e := range o.Exports.All() {
			if abi3.Names(e.Name) &&
				!strings.HasPrefix(
					e.Name,
					"PyInit_",
				) { // which modules are built in is each build's own affair
				names = append(names, e.Name)
			}
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// fewest is roughly the number of symbols in the smallest release.
const fewest = 1000

// table has the releases that export each symbol.
func table(exports map[string][]string, from []string) (string, error) {
	releases := map[string]string{}
	for _, s := range sources {
		if n := len(exports[s.version]); n < fewest {
			return "", fmt.Errorf("CPython %s exports %d symbols, which can't be all", s.version, n)
		}
		for _, name := range exports[s.version] {
			releases[name] = strings.TrimPrefix(releases[name]+" "+s.version, " ")
		}
	}
	comment := "Symbols that CPython exports, by its releases; made by internal/gen/cpython, not by " +
		"hand, from " + strings.Join(from, " ")
	return symboltable.Format(comment, releases), nil
}
