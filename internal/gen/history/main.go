// Command historygen makes the embedded history of analyzer/packages: which libraries each release
// of a package contains, and what those export. The packages are those that extension modules are
// often loaded together with.
//
//	historygen -out FOLDER [-index URL] [-packages a,b] [-wheels REGEXP] [-heads] [-again]
//	historygen -alone FILE [-index URL] [-packages a,b] [-wheels REGEXP] [-versions N]
//	historygen -names FILE [-index URL] [-packages a,b]
//
// It reads a simple index (PEP 503) named by -index or PIP_INDEX_URL; there is no built-in address.
// Of each release it reads one wheel per architecture: small ones whole, of others the zip
// directory, METADATA and each library by HTTP range. It is incremental: a wheel that FOLDER
// already knows is not fetched again, but for libraries of it that were too large to be read and no
// longer are, and an interrupted run keeps what it has read. The same wheels always give the same
// bytes.
//
// The second form makes the list of wheels that need no other package (packages.StandsAlone). It
// downloads the wheels of the newest N versions of often installed packages, and checks each.
//
// The third form makes the list of packages of which only the names of libraries and requirements
// are known (packages.Lacks). It reads the directory and METADATA of three wheels of each.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/packages/historydata"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "historygen:", err)
		os.Exit(1)
	}
}

// parallel fetches: enough to hide the latency of range requests, few enough for anybody's mirror.
const parallel = 4

func run(ctx context.Context, args []string, getenv func(string) string, log io.Writer) error {
	flags := flag.NewFlagSet("historygen", flag.ContinueOnError)
	out := flags.String("out", "data", "folder to write to, and to go on from")
	address := flags.String(
		"index",
		getenv("PIP_INDEX_URL"),
		"simple index to read (default: PIP_INDEX_URL)",
	)
	only := flags.String(
		"packages",
		"",
		"read only these packages, comma separated, and leave the others as they are",
	)
	match := flags.String(
		"wheels",
		"",
		"read only wheels whose file name matches this expression, and leave the others as they are",
	)
	heads := flags.Bool(
		"heads",
		false,
		"read of every large library the beginning only, also of packages that are worth reading whole",
	)
	again := flags.Bool("again", false, "read wheels again that were read before")
	alone := flags.String("alone", "", "add to this list of wheels that need no other package")
	named := flags.String("names", "", "write the names of libraries and requirements to this file")
	versions := flags.Int("versions", 6, "number of the newest versions for -alone")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *address == "" {
		return errors.New("no package index: set PIP_INDEX_URL or give -index")
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return fmt.Errorf("-wheels: %w", err)
	}
	names := map[string]bool{}
	for n := range strings.SplitSeq(*only, ",") {
		names[n] = n != ""
	}
	x := &index{address: strings.TrimSuffix(*address, "/"), only: pattern, heads: *heads}
	chosen := func(list string) []string {
		return slices.DeleteFunc(strings.Fields(list), func(n string) bool {
			return *only != "" && !names[n]
		})
	}
	switch {
	case *alone != "":
		return x.writeAlone(ctx, chosen(oftenInstalled), *versions, *alone, log)
	case *named != "":
		return x.writeNames(ctx, chosen(oftenRequired), *named, log)
	}
	for _, p := range providers {
		if *only != "" && !names[p.name] {
			continue
		}
		if err := x.write(ctx, p, filepath.Join(*out, p.name+".hist"), *again, log); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// write updates the file of one package. With again, wheels that are already in it are read
// again.
func (x *index) write(ctx context.Context, p pkg, file string, again bool, log io.Writer) error {
	have, err := known(file)
	if err != nil {
		return err
	}
	wheels, err := x.wheels(ctx, p)
	if err != nil {
		return err
	}
	releases, err := x.readAll(ctx, wheels, have, again, log)
	if err != nil || len(releases) == 0 {
		return err
	}
	header := []string{
		"Provider history; made by internal/gen/history, not by hand.",
		"Read from the wheels named on the release lines, as published on a package index by their " +
			"projects.",
	}
	packed, err := historydata.Encode(p.name, header, releases, compareVersions)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "%s: %d releases, %d bytes\n", p.name, len(releases), len(packed))
	return os.WriteFile(file, packed, 0o644)
}

// known reads the releases of an earlier run, by wheel and architecture. It returns none if there
// is no file.
func known(file string) (map[string]historydata.Release, error) {
	have := map[string]historydata.Release{}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return have, nil
	}
	if err != nil {
		return nil, err
	}
	old, err := historydata.Open(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range old.Releases {
		for i := range r.Libraries {
			l := &r.Libraries[i]
			if l.Exports, err = old.Exports(l); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if l.Imports, err = old.Imports(l); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		have[r.Wheel+" "+r.Arch] = r
	}
	return have, nil
}

// readAll reads the wheels that are still missing, or all of them again. If a wheel can't be
// read, its earlier release is kept, if any; the next run tries again.
func (x *index) readAll(
	ctx context.Context,
	wheels []wheel,
	have map[string]historydata.Release,
	again bool,
	log io.Writer,
) ([]historydata.Release, error) {
	var (
		releases []historydata.Release
		mu       sync.Mutex
		wg       sync.WaitGroup
		slots    = make(chan struct{}, parallel)
		failed   int
	)
	for _, w := range wheels {
		old, known := have[w.file+" "+w.arch]
		known = known && (old.SHA256 == "" || old.SHA256 == w.sha256)
		old.Yanked, old.SHA256 = w.yanked, w.sha256
		old.RequiresPython, old.Tags, old.Own = w.python, w.tags, w.own
		wanted := x.only.MatchString(w.file) && ctx.Err() == nil
		if !known && !wanted {
			continue
		}
		if known && (!wanted || !again && complete(&old, w.pkg)) {
			mu.Lock()
			releases = append(releases, old)
			mu.Unlock()
			continue
		}
		var kept []historydata.Library
		if !again {
			kept = old.Libraries
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r, err := x.read(ctx, w, kept)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				releases = append(releases, *r)
				fmt.Fprintf(log, "%s: %d libraries\n", w.file, len(r.Libraries))
			case known:
				releases = append(releases, old)
				fmt.Fprintf(log, "left as it was: %s: %v\n", w.file, err)
			default:
				failed++
				fmt.Fprintf(log, "left out: %s: %v\n", w.file, err)
			}
		})
	}
	wg.Wait()
	if failed > 0 && failed == len(wheels) {
		return nil, fmt.Errorf("none of %d wheels could be read", failed)
	}
	return releases, nil
}

// complete reports whether every library of a release is known, as far as the package needs it, and
// what it takes from those of other packages. A later version of this program may find more in a
// head.
func complete(r *historydata.Release, p pkg) bool {
	return p.list || !slices.ContainsFunc(r.Libraries, func(l historydata.Library) bool {
		return !l.Known || !l.Linked && linksOthers(&l, r.Libraries, r.Arch)
	})
}

// compareVersions orders versions as PEP 440 does. Invalid versions come first.
func compareVersions(a, b string) int {
	v, errA := pkgmeta.ParseVersion(a)
	w, errB := pkgmeta.ParseVersion(b)
	if errA != nil || errB != nil {
		return cmp.Or(boolean(errA == nil)-boolean(errB == nil), cmp.Compare(a, b))
	}
	return v.Compare(w)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
