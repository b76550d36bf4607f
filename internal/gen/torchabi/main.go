// Command torchabigen makes the embedded table of analyzer/torchabi: every function of the stable C
// interface of libtorch, with the first published release of torch that exports it and, if a later
// one does not, the last.
//
// It reads the built-in package history, from the first release of which the libraries for the CPU
// and for CUDA are both known. Run it by `go generate ./analyzer/torchabi` after the history was
// updated.
//
//	torchabigen -out FILE
//
// The same history always gives the same bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/torchabi"
	"github.com/compat-app/compat/internal/symboltable"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "torchabigen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("torchabigen", flag.ContinueOnError)
	out := flags.String("out", filepath.Join("data", "stable.txt"), "file that is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := table(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, []byte(text), 0o644) //nolint:gosec // a source file
}

// table returns the table of the releases in the history.
func table(ctx context.Context) (string, error) {
	on := packages.Target{Arch: "x86_64"}
	versions, err := packages.History().Versions(ctx, "torch", on)
	if err != nil {
		return "", err
	}
	rows := map[string][]string{} // the first and the last release
	first, last := "", ""
	for _, v := range versions { // in ascending order
		r, err := packages.History().Release(ctx, "torch", v, on)
		if err != nil {
			return "", err
		}
		names := functions(r)
		if names == nil {
			continue
		}
		for name := range names {
			switch row := rows[name]; {
			case row == nil:
				rows[name] = []string{v, v}
			case row[1] != last:
				return "", fmt.Errorf("%s is in torch %s and %s, but not in %s", name, row[1], v, last)
			default:
				row[1] = v
			}
		}
		if last = v; first == "" {
			first = v
		}
	}
	if first == "" {
		return "", errors.New("the history has no release of torch with libraries that are known")
	}
	fields := map[string]string{}
	for name, row := range rows {
		if fields[name] = row[0]; row[1] != last {
			fields[name] += " " + row[1]
		}
	}
	return symboltable.Format(fmt.Sprintf("The C interface of libtorch in torch %s to %s: the first "+
		"release with a function\n# and, if a later one does not have it, the last", first, last),
		fields), nil
}

// functions returns the functions of the stable interface in the libraries for the CPU and for CUDA;
// nil if not all exports of these are known.
func functions(r *packages.Release) map[string]bool {
	names, known := map[string]bool{}, 0
	for i := range r.Libraries {
		l := &r.Libraries[i]
		switch path.Base(l.Path) {
		case "libtorch_cpu.so", "libtorch_cuda.so":
		default:
			continue
		}
		if !l.Known {
			return nil
		}
		known++
		for _, e := range l.Exports.All() {
			if torchabi.Stable(e.Name) {
				names[e.Name] = true
			}
		}
	}
	if known != 2 {
		return nil
	}
	return names
}
