// Command dependents makes the embedded table of packages that use the libraries of other packages.
//
// Of each package of packages.txt it reads the newest wheel for CPython 3.11 on Linux, and the
// libraries of the packages that it requires, directly or through others: from the built-in history
// or from the index. A row is a package of which one of its objects needs a library, with the
// symbol families of what it imports from there. Packages without a wheel, and those that are too
// large to be read, have no row. Nothing is installed and nothing is run.
//
//	dependents [-index URL] [-out FILE] [PACKAGE...]
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"log"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/index"
)

//go:embed packages.txt
var packageList string

const (
	// maxLibrary is the size of a library, in compressed bytes, up to which it is read. Those of GPU
	// frameworks with more are mostly code for GPUs.
	maxLibrary = 96 << 20
	maxDepth   = 3 // of requirements: faiss-gpu-cuvs needs librmm through libcuvs and libraft
	families   = 3 // of a row
)

var on = packages.Target{Python: "3.11", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36"}

func main() {
	log.SetFlags(0)
	url := flag.String("index", os.Getenv("PIP_INDEX_URL"), "package index")
	out := flag.String("out", filepath.Join("data", "dependents.txt"), "file that is written")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = strings.Fields(packageList)
	}
	o := index.Options{URL: *url, TempDir: os.TempDir()}
	whole, err := index.New(o)
	if err != nil {
		log.Fatal(err)
	}
	o.History = packages.History()
	known, err := index.New(o)
	if err != nil {
		log.Fatal(err)
	}
	g := generator{whole: whole, known: known, read: map[string]*packages.Release{}}
	var rows []string
	slices.Sort(names)
	for _, name := range names {
		found, err := g.rows(context.Background(), name)
		if err != nil {
			log.Printf("%s: %v", name, err)
		}
		rows = append(rows, found...)
	}
	text := strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile(*out, []byte(text), 0o644); err != nil { //nolint:gosec // a source file
		log.Fatal(err)
	}
}

// generator reads releases, each once.
type generator struct {
	whole *index.Index                 // for users, of which the history has no modules
	known *index.Index                 // with the history, for what they use
	read  map[string]*packages.Release // that they use, by name; nil if it could not be read
}

// newest returns the newest release of a package with its libraries.
func (g *generator) newest(ctx context.Context, name string) (*packages.Release, error) {
	if r, ok := g.read[name]; ok {
		return r, nil
	}
	r, err := newest(ctx, g.known, name)
	g.read[name] = r
	return r, err
}

// newest returns the newest final release of a package with its libraries.
func newest(ctx context.Context, from *index.Index, name string) (*packages.Release, error) {
	listed, err := from.Versions(ctx, name, on)
	if err != nil {
		return nil, err
	}
	for _, v := range slices.Backward(packages.Sorted(listed)) {
		if v.IsPreRelease() {
			continue
		}
		r, err := from.Release(ctx, name, v.String(), on)
		if err == nil {
			r, err = from.Read(ctx, r, on, func(string) int64 { return maxLibrary })
		}
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	return nil, packages.ErrUnknown
}

// rows returns the rows of a package.
func (g *generator) rows(ctx context.Context, name string) (rows []string, _ error) {
	user, err := newest(ctx, g.whole, name)
	if err != nil || user == nil {
		return nil, err
	}
	seen := map[string]bool{name: true}
	level := []*packages.Release{user}
	for range maxDepth {
		var next []*packages.Release
		for _, r := range level {
			for _, q := range r.Requires {
				ok, err := q.Applies(on.Markers())
				if seen[q.Name] || err != nil || !ok {
					continue
				}
				seen[q.Name] = true
				p, err := g.newest(ctx, q.Name)
				if err != nil || p == nil {
					continue // published as source only, or too large
				}
				next = append(next, p)
				if libraries, of := uses(user, p); len(libraries) > 0 {
					rows = append(rows, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", p.Name, user.Name,
						user.Version, strings.Join(libraries, ","), strings.Join(of, ","))))
				}
			}
		}
		level = next
	}
	slices.Sort(rows)
	return rows, nil
}

// uses returns the libraries of a package that another one needs, without versions, and the
// families of the symbols that it imports from there, the largest first.
func uses(user, p *packages.Release) (libraries, of []string) {
	own := map[string]bool{}
	for _, l := range user.Libraries {
		own[platform.Stem(path.Base(l.Path))] = true
	}
	count := map[string]int{}
	for _, l := range user.Libraries {
		needs := false
		for _, n := range l.Needed {
			stem := platform.Stem(n)
			_, ofSystem := platform.ProviderOf(n)
			has := slices.ContainsFunc(p.Libraries, func(x packages.Library) bool {
				return platform.Stem(path.Base(x.Path)) == stem || platform.Stem(x.SONAME) == stem
			})
			if own[stem] || ofSystem || !has {
				continue
			}
			needs = true
			if !slices.Contains(libraries, stem) {
				libraries = append(libraries, stem)
			}
		}
		if !needs || l.Imports == nil {
			continue
		}
		for _, i := range l.Imports.All() {
			if f := family(i.Name); f != "" && exports(p, i.Name) {
				count[f]++
			}
		}
	}
	slices.Sort(libraries)
	for f := range count {
		of = append(of, f)
	}
	slices.SortFunc(of, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	return libraries, of[:min(len(of), families)]
}

func exports(p *packages.Release, name string) bool {
	return slices.ContainsFunc(p.Libraries, func(l packages.Library) bool {
		return l.Exports != nil && len(l.Exports.Named(name)) > 0
	})
}

// family returns the first namespace or the class of a C++ symbol, and the name of a C symbol up to
// the first "_" or digit; "" if it has none.
func family(symbol string) string {
	text := abi.Readable(symbol)
	for _, of := range []string{
		"vtable for ", "typeinfo for ", "typeinfo name for ", "guard variable for ",
	} {
		text = strings.TrimPrefix(text, of)
	}
	if text == symbol { // C
		at := strings.IndexAny(symbol, "_0123456789")
		if at < 2 {
			return ""
		}
		return symbol[:at]
	}
	text, _, _ = strings.Cut(text, "(")
	if space := strings.LastIndexByte(text[:strings.Index(text+"::", "::")], ' '); space >= 0 {
		text = text[space+1:] // the type that a template returns
	}
	first, _, scoped := strings.Cut(text, "::")
	if !scoped || first == "std" || strings.ContainsAny(first, "<>,&*") {
		return ""
	}
	return first
}
