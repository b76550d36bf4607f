// Command debian lists the libraries that the packages of Debian contain in the folders of the
// loader, and the packages that they depend on: the data of analyzer/platform/debian. A package
// without libraries is listed if such a package depends on it and it depends on others with
// libraries; so is a virtual package, which depends on those that provide it.
//
// It reads the lists of files and packages from the mirror that this machine's apt is configured
// for. A release whose list of files the mirror does not have is left out. Run it by `go generate
// ./analyzer/platform/debian`.
//
//	debian -out DIR [-cache DIR]
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/debian"
	"github.com/compat-app/compat/internal/apt"
)

// releases are those that are read, with their names in debian.Holders; "" for one to come.
var releases = []struct{ codename, name string }{
	{"bullseye", "debian11"}, {"bookworm", "debian12"}, {"trixie", "debian13"}, {"sid", ""},
}

var (
	// library matches a library in a folder of the loader, or in a private folder, to which the run
	// paths of other packages may lead. The submatch is set for the former.
	library = regexp.MustCompile(
		`^(?:usr/)?lib/(?:((?:x86_64-linux-gnu/)?[^/]+)|(?:[^/]+/){1,3}lib[^/]+)\.so(?:\.[0-9][^/]*)?$`)
	// soname matches a virtual package that is named after a library, whose file is made by
	// update-alternatives: libblas.so.3.
	soname = regexp.MustCompile(`^lib.*\.so\.[0-9]`)
	// other matches packages without libraries for programs.
	other = regexp.MustCompile(`-(?:dev|dbg|dbgsym)$`)
	// relation matches the names in a dependency.
	relation = regexp.MustCompile(`(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)`)
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "debian:", err)
		os.Exit(1)
	}
}

type set map[string]bool

func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }

func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("debian", flag.ContinueOnError)
	out := flags.String("out", "data", "folder of the files that are written")
	cache := flags.String("cache", filepath.Join(os.TempDir(), "platformgen"), "directory for lists")
	if err := flags.Parse(args); err != nil {
		return err
	}
	has, depends := map[string]set{}, map[string]set{}
	in := map[string]set{} // the releases of a package, and of a library in it
	var from []string
	for _, release := range releases {
		codename := release.codename
		x, err := apt.Open(ctx, *cache, apt.Suite{Mirror: "debian", Codename: codename}, "amd64")
		if err != nil {
			return err
		}
		found := func(name, library string) {
			add(has, name, library)
			if release.name != "" {
				add(in, name, release.name)
				add(in, name+" "+library, release.name)
			}
		}
		err = x.Contents(ctx, library, func(file string, packages []string) {
			name := path.Base(file)
			if library.FindStringSubmatch(file)[1] == "" {
				name = debian.Private + name
			}
			for _, p := range packages {
				if !other.MatchString(p) {
					found(p, name)
				}
			}
		})
		if err != nil {
			fmt.Fprintf(log, "the files of %s are left out: %v\n", codename, err)
		} else {
			from = append(from, codename)
		}
		err = x.Relations(ctx, func(name, field, text string) {
			for _, m := range relation.FindAllStringSubmatch(text, -1) {
				if field == "Provides" {
					add(depends, m[1], name)
					if soname.MatchString(m[1]) {
						found(name, m[1])
					}
				} else {
					add(depends, name, m[1])
				}
			}
		})
		if err != nil {
			return err
		}
	}
	var names []string
	for _, release := range releases {
		if release.name != "" {
			names = append(names, release.name)
		}
	}
	if len(names) > 9 { // a number is one digit, so that "1" is not in "10"
		return fmt.Errorf("%d releases, but their numbers have one digit", len(names))
	}
	holders, listed := map[string][]string{}, relevant(has, depends)
	for _, name := range slices.Sorted(maps.Keys(has)) {
		for _, library := range sonames(has[name]) {
			holder := name
			for n, release := range names {
				if in[name+" "+library][release] {
					if !strings.Contains(holder, debian.In) {
						holder += debian.In
					}
					holder += strconv.Itoa(n + 1)
				}
			}
			holders[library] = append(holders[library], holder)
		}
	}
	var libraries, packages bytes.Buffer
	fmt.Fprintf(&libraries, "# libraries, and packages of Debian that contain them, each with @ and "+
		"the numbers of these releases (files of %s)\n# %s\n\n",
		strings.Join(from, ", "), strings.Join(names, " "))
	for _, library := range slices.Sorted(maps.Keys(holders)) {
		fmt.Fprintf(&libraries, "%s %s\n", library, strings.Join(holders[library], " "))
	}
	for _, name := range listed.sorted() {
		packages.WriteString(name)
		for _, d := range depends[name].sorted() {
			if listed[d] && d != name {
				packages.WriteString(" " + d)
			}
		}
		packages.WriteByte('\n')
	}
	if err := write(filepath.Join(*out, "libraries.gz"), libraries.Bytes()); err != nil {
		return err
	}
	return write(filepath.Join(*out, "depends.gz"), packages.Bytes())
}

// write writes a compressed file.
func write(name string, text []byte) error {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o644)
}

// relevant returns the packages with libraries, and those between two of them.
func relevant(has, depends map[string]set) set {
	users := map[string]set{}
	for name, on := range depends {
		for d := range on {
			add(users, d, name)
		}
	}
	out := set{}
	above := reachable(has, users) // those that depend on them
	for name := range reachable(has, depends) {
		if above[name] {
			out[name] = true
		}
	}
	return out
}

// reachable returns the packages to which edges lead from some, and these.
func reachable(from, edges map[string]set) set {
	out, queue := set{}, slices.Collect(maps.Keys(from))
	for len(queue) > 0 {
		name := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !out[name] {
			out[name] = true
			queue = slices.AppendSeq(queue, maps.Keys(edges[name]))
		}
	}
	return out
}

func add(to map[string]set, key, value string) {
	if to[key] == nil {
		to[key] = set{}
	}
	to[key][value] = true
}

// sonames returns the names of files without those of the same library with a longer version:
// libz.so.1, but not libz.so.1.3.1.
func sonames(files set) []string {
	return slices.DeleteFunc(files.sorted(), func(f string) bool {
		for i := strings.Index(f, ".so.") + len(".so."); i < len(f); i++ {
			if f[i] == '.' && files[f[:i]] {
				return true
			}
		}
		return false
	})
}
