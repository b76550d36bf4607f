// Survey compares what compat says of public packages with what happens when they are installed.
//
//	go run ./internal/test/survey -seed N [-wheels N] [-locks N] [-others N] [-budget MB]
//		[-results FILE] [-store DIR] COMPAT
//	go run ./internal/test/survey -page docs/accuracy.md FILE...
//
// The seed draws projects of wheels.txt, interpreters and versions; what the index publishes later
// changes what a seed draws. Each wheel is installed by uv in an environment of its own, with what
// it requires. Its packages are imported, and its shared objects opened, in a process each.
// auditwheel says which tag its symbols need, and abi3audit whether it keeps to the stable ABI. A
// lock file is what uv compiles for some of the projects, as of a date, without those of them that
// have no wheels.
//
// compat checks the wheel as it is (check), with the installed packages on this system (check
// --requirement), and the lock file (env). Wheels for musl, macOS and Windows are not installed:
// their objects are compared with what auditwheel, LLVM's otool and delvewheel say.
//
// It needs uv, auditwheel, llvm-otool, qemu-x86_64, a package index in PIP_INDEX_URL and
// interpreters that uv finds. The result is written to FILE as JSON, and without the texts of
// agreements to the folder DIR, which has those of all seeds. The page is made from several such
// files.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "survey:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("survey", flag.ContinueOnError)
	var s survey
	flags.Uint64Var(&s.seed, "seed", 1, "what is drawn")
	flags.IntVar(&s.wheels, "wheels", 50, "wheels for this system")
	flags.IntVar(&s.locks, "locks", defaultLocks, "lock files")
	flags.IntVar(&s.others, "others", 15, "wheels for musl, macOS and Windows together")
	flags.Int64Var(&s.budget, "budget", defaultBudget, "limit in MB for what is downloaded")
	flags.StringVar(&s.dir, "dir", "", "folder for environments; default: a temporary one")
	pythons := flags.String("python", "3.9,3.10,3.11,3.12,3.13", "interpreters")
	results := flags.String("results", "", "file for the result; default: standard output")
	store := flags.String("store", "", "folder for the result without the texts of agreements")
	page := flags.String("page", "", "page to write from files with results")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *page != "" {
		return writePage(*page, flags.Args())
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("name the program to compare: survey -seed 1 ./compat")
	}
	s.pythons = strings.Split(*pythons, ",")
	var err error
	if s.compat, err = filepath.Abs(flags.Arg(0)); err != nil {
		return err
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "survey"); err != nil {
			return err
		}
		defer os.RemoveAll(s.dir)
	}
	r, err := s.run(ctx)
	if err != nil {
		return err
	}
	if *results == "" {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	if err := write(*results, r); err != nil || *store == "" {
		return err
	}
	return write(filepath.Join(*store, fmt.Sprintf("%d.json", r.Seed)), r.brief())
}

// brief returns the result without the texts of agreements, which the page does not show, and
// without the folders of this machine.
func (r *Results) brief() *Results {
	out := *r
	out.Rows = slices.Clone(r.Rows)
	for i := range out.Rows {
		r := &out.Rows[i]
		r.Truth = folder.ReplaceAllString(r.Truth, "$1")
		r.Compat = folder.ReplaceAllString(r.Compat, "$1")
		if r.Verdict == Agree {
			r.Truth, r.Compat = "", ""
		}
		r.Seconds = math.Round(r.Seconds)
	}
	slices.SortFunc(out.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.What, b.What),
			cmp.Compare(a.Mode, b.Mode))
	})
	return &out
}

// write writes a result to a file, each row on a line.
func write(file string, r *Results) error {
	head := *r
	head.Rows = nil
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	var rows []string
	for _, row := range r.Rows {
		line, err := json.Marshal(row)
		if err != nil {
			return err
		}
		rows = append(rows, string(line))
	}
	list := "[\n" + strings.Join(rows, ",\n") + "\n]"
	all := strings.Replace(string(text), `"Rows":null`, `"Rows":`+list, 1)
	return os.WriteFile(file, []byte(all+"\n"), 0o644)
}
