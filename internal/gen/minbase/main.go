// Command minbase lists the libraries that small systems have: those in the folders of the loader
// of each root that debootstrap makes with --variant=minbase --include=python3. The test of
// analyzer/platform compares the tables, which are made from lists of packages, with them.
//
//	minbase -out FILE [-work DIR] [NAME=CODENAME...]
//
// It needs root rights, debootstrap, and the mirror of apt with Ubuntu next to Debian. Run it by
// `make minbase`.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/apt"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "minbase:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("minbase", flag.ContinueOnError)
	out := flags.String("out", "", "file that is written")
	work := flags.String("work", os.TempDir(), "directory for the roots, which are removed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var text bytes.Buffer
	fmt.Fprintln(&text, "# The libraries of debootstrap --variant=minbase --include=python3 on x86_64; "+
		"made by make minbase.")
	for _, release := range flags.Args() {
		name, codename, _ := strings.Cut(release, "=")
		has, err := libraries(ctx, *work, strings.TrimRight(name, "0123456789."), codename)
		if err != nil {
			return fmt.Errorf("%s: %w", release, err)
		}
		fmt.Fprintf(&text, "%s %s\n", name, strings.Join(has, " "))
	}
	return os.WriteFile(*out, text.Bytes(), 0o644)
}

// libraries returns the SONAMEs in a root of a distribution's release, sorted.
func libraries(ctx context.Context, work, distribution, codename string) (sonames []string, _ error) {
	debian, err := apt.Mirror()
	if err != nil {
		return nil, err
	}
	mirror := strings.TrimSuffix(strings.TrimSuffix(debian, "/"), "debian") + distribution
	root, err := os.MkdirTemp(work, codename)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	// debootstrap may be older than the release; the script is that of all releases.
	script := map[string]string{"debian": "sid", "ubuntu": "gutsy"}[distribution]
	said, err := exec.CommandContext(ctx, "debootstrap", "--variant=minbase", "--include=python3",
		"--arch=amd64", codename, root, mirror, script).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("debootstrap: %w: %s", err, said)
	}
	for _, folder := range []string{"usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib", "lib"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.so*"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			o, err := elfobj.Read(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			sonames = append(sonames, cmp.Or(o.SONAME, filepath.Base(file)))
		}
	}
	slices.Sort(sonames)
	return slices.Compact(sonames), nil
}
