// Command abirun runs programs that were built with one build of a library with another build of
// it, and compares what happens with the verdict of compat diff:
//
//	go run ./internal/test/abirun ./compat
//
// The pairs of libraries are files in testdata, one for each: C or C++ source in which @{A@|B@}
// stands for A in the old library and B in the new one. Each is built by gcc and clang, with the
// formats of debug information that compat reads and without any, and as a static library. A
// program that crashes or prints something else must not pass if types were compared.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	pairs := flag.String("pairs", "internal/test/abirun/testdata", "folder with the pairs")
	only := flag.String("only", "", "only the pairs whose name contains this text")
	verbose := flag.Bool("v", false, "print each comparison")
	builds := flag.String("builds", "", "only these builds, separated by commas; "+
		"NAME/4 is each fourth pair")
	jobs := flag.Int("j", 2, "number of pairs that are built at a time")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: abirun [flags] COMPAT")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	wrong, err := run(ctx, os.Stdout, settings{
		compat: flag.Arg(0), pairs: *pairs, only: *only, builds: *builds, verbose: *verbose,
		jobs: *jobs,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "abirun:", err)
		os.Exit(2)
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// settings are what is run and how.
type settings struct {
	compat  string // path of the program
	pairs   string // folder
	only    string // part of the names; "" = all
	builds  string // names, separated by commas; NAME/4 is each fourth pair; "" = all
	verbose bool   // print right answers too
	jobs    int
}

// run builds and compares all pairs, writes a table, and returns the number of wrong answers.
func run(ctx context.Context, out io.Writer, s settings) (wrong int, err error) {
	files, err := filepath.Glob(filepath.Join(s.pairs, "*.txtar"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no pairs", s.pairs)
	}
	if err != nil {
		return 0, err
	}
	if s.compat, err = filepath.Abs(s.compat); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "abirun")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	var pairs []*pair
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if !strings.Contains(name, s.only) {
			continue
		}
		p, err := readPair(file)
		if err != nil {
			return 0, err
		}
		p.dir = filepath.Join(dir, name)
		pairs = append(pairs, p)
	}
	type outcome struct {
		answers []answer
		err     error
	}
	done := make([]chan outcome, len(pairs))
	slots := make(chan struct{}, s.jobs)
	share, err := shares(s.builds)
	if err != nil {
		return 0, err
	}
	for i, p := range pairs {
		chosen := func(b build) bool {
			if share == nil {
				return true
			}
			n := share[b.name]
			return n > 0 && (i%n == 0 || p.keys["cc"] != "")
		}
		done[i] = make(chan outcome, 1)
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answers, err := p.run(ctx, s.compat, chosen)
			os.RemoveAll(p.dir)
			done[i] <- outcome{answers, err}
		}()
	}
	t := table{}
	for i, p := range pairs {
		o := <-done[i]
		if o.err != nil {
			return 0, fmt.Errorf("%s: %w", p.name, o.err)
		}
		for _, a := range o.answers {
			t.add(a)
			if a.kind.wrong() {
				wrong++
			}
			if a.kind.wrong() || s.verbose {
				fmt.Fprintf(out, "%-12s %-10s %s: %s\n", a.kind, a.build, p.name, a.text)
			}
		}
	}
	t.write(out, len(pairs))
	return wrong, nil
}

// shares returns the builds that are wanted: of each, one of how many pairs; nil for all.
func shares(list string) (map[string]int, error) {
	if list == "" {
		return nil, nil
	}
	out := map[string]int{}
	for _, item := range strings.Split(list, ",") {
		name, share, some := strings.Cut(item, "/")
		n := 1
		if some {
			var err error
			if n, err = strconv.Atoi(share); err != nil || n < 1 {
				return nil, fmt.Errorf("-builds: %s is not a number of pairs", share)
			}
		}
		if !slices.ContainsFunc(builds, func(b build) bool { return b.name == name }) {
			return nil, fmt.Errorf("-builds: there is no build %s", name)
		}
		out[name] = n
	}
	return out, nil
}
