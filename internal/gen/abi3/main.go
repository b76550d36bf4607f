// Command abi3gen makes the embedded table of analyzer/abi3: every symbol of CPython's stable ABI
// and the version that brought it.
//
// It reads the abi3info package, which is generated from CPython's Misc/stable_abi.toml, through
// pip as this machine is configured. Run it by `go generate ./analyzer/abi3`.
//
//	abi3gen -out FILE [-abi3info FILE.whl]
//
// The same package always gives the same bytes.
package main

import (
	"archive/zip"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/compat-app/compat/internal/symboltable"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "abi3gen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("abi3gen", flag.ContinueOnError)
	out := flags.String("out", filepath.Join("data", "stable.txt"), "file that is written")
	wheel := flags.String("abi3info", "", "abi3info's wheel (default: pip downloads the newest)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "abi3gen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *wheel == "" {
		if *wheel, err = download(ctx, dir); err != nil {
			return err
		}
	}
	source, err := read(*wheel)
	if err != nil {
		return fmt.Errorf("%s: %w", *wheel, err)
	}
	version := strings.Split(filepath.Base(*wheel), "-")
	if len(version) < 2 {
		return fmt.Errorf("%s is not named like a wheel", *wheel)
	}
	text, err := table(source, version[1])
	if err != nil {
		return err
	}
	return os.WriteFile(*out, []byte(text), 0o644)
}

func download(ctx context.Context, dir string) (string, error) {
	c := exec.CommandContext(ctx, "pip", "download", "--quiet", "--no-deps", "--dest", dir, "abi3info")
	if said, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip download abi3info: %w: %s", err, said)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "abi3info-*.whl"))
	if len(found) != 1 {
		return "", fmt.Errorf("pip downloaded %d wheels of abi3info, want 1", len(found))
	}
	return found[0], nil
}

func read(wheel string) (string, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return "", err
	}
	defer z.Close()
	f, err := z.Open("abi3info/_internal.py")
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(f)
	return string(b), err
}

// entry is one function or variable as abi3info writes it.
var entry = regexp.MustCompile(
	`(Function|Data)\(\s*symbol=Symbol\(name="(\w+)"[^)]*\),\s*added=PyVersion\(major=3, minor=(\d+)\)`,
)

// table has the version of Python 3 that added each symbol.
func table(source, version string) (string, error) {
	added := map[string]string{}
	for _, m := range entry.FindAllStringSubmatch(source, -1) {
		if added[m[2]] == "" {
			added[m[2]] = "3." + m[3]
		}
	}
	if len(added) < 900 {
		return "", fmt.Errorf("only %d symbols were found; abi3info has changed its form", len(added))
	}
	comment := fmt.Sprintf(
		"CPython's stable ABI, from abi3info %s (MIT licence); made by internal/gen/abi3, not by hand.",
		version,
	)
	return symboltable.Format(comment, added), nil
}
