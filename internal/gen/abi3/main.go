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
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "abi3gen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("abi3gen", flag.ContinueOnError)
	out := flags.String("out", filepath.Join("data", "stable.gz"), "file that is written")
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
	packed, err := pack(text)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, packed, 0o644)
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

// table writes a line for each minor version of Python 3: the version, and the symbols that it
// brought.
func table(source, version string) (string, error) {
	byMinor := map[int][]string{}
	seen := map[string]bool{}
	for _, m := range entry.FindAllStringSubmatch(source, -1) {
		minor, err := strconv.Atoi(m[3])
		if err != nil {
			return "", err
		}
		if !seen[m[2]] {
			seen[m[2]] = true
			byMinor[minor] = append(byMinor[minor], m[2])
		}
	}
	if len(seen) < 900 {
		return "", fmt.Errorf("only %d symbols were found; abi3info has changed its form", len(seen))
	}
	b := fmt.Sprintf(
		"# CPython's stable ABI, from abi3info %s (MIT licence); made by internal/gen/abi3, not by "+
			"hand.\n",
		version,
	)
	for minor := 0; len(byMinor) > 0; minor++ {
		names, ok := byMinor[minor]
		delete(byMinor, minor)
		if ok {
			slices.Sort(names)
			b += fmt.Sprintf("3.%d %s\n", minor, strings.Join(names, " "))
		}
	}
	return b, nil
}

func pack(text string) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
