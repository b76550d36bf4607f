// Command platformgen makes the embedded data of analyzer/platform: what every manylinux policy and
// every known distribution provides.
//
// It reads the packages of Debian, Ubuntu and Alpine from the mirror that this machine's apt is
// configured for, and the policy file of the auditwheel package through pip. Both addresses come
// from the configuration of the machine. It has its own state of apt, changes nothing of the
// machine's, and needs no root. Run it by `go generate ./analyzer/platform`.
//
//	platformgen -out DIR [-cache DIR] [-auditwheel FILE.whl]
//
// The same packages always give the same bytes. What it read is written at the top of
// data/names.txt and in the column lines of each architecture.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/compat-app/compat/analyzer/platform/table"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "platformgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("platformgen", flag.ContinueOnError)
	out := flags.String("out", "data", "directory the data files are written to")
	cache := flags.String(
		"cache",
		filepath.Join(os.TempDir(), "platformgen"),
		"directory for package lists and packages",
	)
	wheel := flags.String("auditwheel", "", "auditwheel's wheel (default: pip downloads the newest)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	policies, version, err := readPolicies(ctx, *wheel, *cache)
	if err != nil {
		return fmt.Errorf("policies: %w", err)
	}
	var sets []*table.Set
	for _, a := range architectures {
		fmt.Fprintf(log, "%s\n", a.name)
		before, err := existing(*out, a.name)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		s, err := readArch(ctx, a, *cache, before)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		sets = append(sets, s)
	}
	if err := derive(sets); err != nil {
		return err
	}
	var musl *table.Set // of x86_64, the first
	for _, a := range architectures {
		s, err := muslTable(ctx, a, *out, *cache, musl, log)
		if err != nil {
			return fmt.Errorf("musl on %s: %w", a.name, err)
		}
		if musl == nil {
			musl = s
		}
		sets = append(sets, s)
	}
	header := []string{
		"Names of the symbols that system libraries export; made by internal/gen/platform, not by hand.",
		"Read from the packages that the column lines of each architecture's file name, distributed by " +
			"Debian, Ubuntu and Alpine Linux.",
		"Policies: " + version + " (MIT licence).",
	}
	names, byArch, err := table.Encode(header, sets)
	if err != nil {
		return err
	}
	files := map[string][]byte{"names.txt": names, "policies.txt": policies}
	for arch, data := range byArch {
		files[arch+".gz"] = data
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(*out, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// muslTable makes the table of musl for an architecture: from Alpine or, where that is not read,
// from Debian. musl is the table of x86_64.
func muslTable(
	ctx context.Context,
	a architecture,
	out, cache string,
	musl *table.Set,
	log io.Writer,
) (*table.Set, error) {
	if a.alpine == "" {
		return readMusl(ctx, a, cache, musl)
	}
	s, err := readAlpine(ctx, a, cache, log)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(log, "the tables of Alpine stay as they are: %v\n", err)
		s, err = existing(out, a.name+"-musl")
	}
	if err == nil && musl != nil {
		err = addOldMusl(s, musl)
	}
	return s, err
}

// existing reads a table that was written before, for what the mirror does not have. A new
// architecture begins with an empty one.
func existing(out, arch string) (*table.Set, error) {
	names, err := os.ReadFile(filepath.Join(out, "names.txt"))
	if err != nil {
		return nil, err
	}
	packed, err := os.ReadFile(filepath.Join(out, arch+".gz"))
	if errors.Is(err, os.ErrNotExist) {
		return &table.Set{Arch: arch}, nil
	}
	if err != nil {
		return nil, err
	}
	set, err := table.Decode(string(names), packed)
	if err != nil {
		return nil, err
	}
	for _, l := range set.Libraries {
		if _, err := l.Read(); err != nil {
			return nil, err
		}
	}
	return set, nil
}
