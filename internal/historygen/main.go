// Command historygen makes the embedded provider history of analyzer/stack: which release of the CUDA packages, of torch and of their
// companions brings which libraries, and for the small ones what those export.
//
//	historygen -out FILE [-index URL] [-packages a,b]
//
// It reads a simple index (PEP 503) named by -index or PIP_INDEX_URL; there is no built-in address. Of each release it reads one wheel
// per architecture: small ones whole, of large ones only the zip directory and METADATA by HTTP range. It is incremental: a
// wheel that FILE already holds is not fetched again. The same wheels always give the same bytes.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/stack/historydata"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Getenv, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "historygen:", err)
		os.Exit(1)
	}
}

// parallel fetches: enough to hide the latency of range requests, few enough for anybody's mirror.
const parallel = 4

func run(ctx context.Context, args []string, getenv func(string) string, log io.Writer) error {
	flags := flag.NewFlagSet("historygen", flag.ContinueOnError)
	out := flags.String("out", "data/history.gz", "file to write, and to go on from")
	address := flags.String("index", getenv("PIP_INDEX_URL"), "simple index to read (default: PIP_INDEX_URL)")
	only := flags.String("packages", "", "read these packages again, comma separated, and keep the others as they are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *address == "" {
		return errors.New("no package index: set PIP_INDEX_URL or give -index")
	}
	have := map[string]historydata.Release{}
	if old, err := os.ReadFile(*out); err == nil {
		releases, err := historydata.Decode(old)
		if err != nil {
			return fmt.Errorf("%s: %w", *out, err)
		}
		for _, r := range releases {
			have[r.Wheel+" "+r.Arch] = r
		}
	}
	names := map[string]bool{}
	for n := range strings.SplitSeq(*only, ",") {
		names[n] = n != ""
	}
	x := &index{address: strings.TrimSuffix(*address, "/")}
	var wheels []wheel
	var releases []historydata.Release
	for _, p := range packages {
		if *only != "" && !names[p.name] {
			for _, r := range have {
				if r.Name == p.name {
					releases = append(releases, r)
				}
			}
			continue
		}
		found, err := x.wheels(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		wheels = append(wheels, found...)
	}
	fresh, err := readAll(ctx, x, wheels, have, *only != "", log)
	if err != nil {
		return err
	}
	releases = append(releases, fresh...)
	header := []string{
		"Provider history; made by internal/historygen, not by hand.",
		"Read from the wheels named on the release lines, as published on a package index by their projects.",
	}
	packed, err := historydata.Encode(header, releases, compareVersions)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "%d releases, %d bytes\n", len(releases), len(packed))
	return os.WriteFile(*out, packed, 0o644)
}

// readAll reads the wheels that are not there yet. A wheel that can't be read is told and left out: the next run tries again.
func readAll(ctx context.Context, x *index, wheels []wheel, have map[string]historydata.Release, again bool, log io.Writer) ([]historydata.Release, error) {
	var (
		releases []historydata.Release
		mu       sync.Mutex
		wg       sync.WaitGroup
		slots    = make(chan struct{}, parallel)
		failed   int
	)
	for _, w := range wheels {
		if r, ok := have[w.file+" "+w.arch]; ok && !again {
			r.Yanked = w.yanked
			mu.Lock()
			releases = append(releases, r)
			mu.Unlock()
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r, err := x.read(ctx, w)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				fmt.Fprintf(log, "left out: %s: %v\n", w.file, err)
				return
			}
			releases = append(releases, *r)
			fmt.Fprintf(log, "%s: %d libraries\n", w.file, len(r.Libraries))
		})
	}
	wg.Wait()
	if failed > 0 && failed == len(wheels) {
		return nil, fmt.Errorf("none of %d wheels could be read", failed)
	}
	return releases, ctx.Err()
}

// compareVersions orders versions as PEP 440 does; what is no version stands first.
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
