// Command androidgen makes the embedded table of analyzer/platform/android: which API level added
// each symbol of the C library and of some other libraries of Android.
//
// It reads the version scripts from which the stub libraries of the NDK are made (*.map.txt), whose
// comments have the API levels. They are in the repositories of the Android Open Source Project:
// platform/bionic (libc, libm, libdl), platform/external/zlib (libz), and platform/system/logging
// (liblog), all of which have public copies.
//
//	androidgen -source "platform/bionic of 2025-03-26, …" -out FILE libc.so=libc.map.txt…
//
// The same files always give the same bytes.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/symboltable"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "androidgen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("androidgen", flag.ContinueOnError)
	out := flags.String("out", filepath.Join("data", "symbols.txt"), "file that is written")
	source := flags.String("source", "", "where the files come from, for the comment of the table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 || *source == "" {
		return errors.New("give -source and the files, as in libc.so=libc.map.txt")
	}
	fields := map[string]string{}
	for _, arg := range flags.Args() {
		library, file, _ := strings.Cut(arg, "=")
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		levels, err := parse(data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for name, l := range levels {
			row := library
			for _, n := range l {
				row += " " + n
			}
			fields[name] = strings.TrimSpace(fields[name] + " " + row)
		}
	}
	comment := "Symbols of Android with the libraries and the API levels that added them on aarch64, " +
		"armv7l, i686 and\n# x86_64 (21: in the first that wheels can name, or earlier). Made from " + *source
	return os.WriteFile(*out, []byte(symboltable.Format(comment, fields)), 0o644) //nolint:gosec // a source file
}

// architectures are those of the table, as the version scripts call them.
var architectures = []string{"arm64", "arm", "x86", "x86_64"}

const (
	oldest  = 21  // the first API level of wheels (PEP 738)
	nowhere = "-" // the architecture does not have the symbol
)

// levels are the API levels of a symbol on each of the architectures.
type levels [4]string

// parse reads a version script. What only some versions hide (local) counts as there.
func parse(data []byte) (map[string]levels, error) {
	out := map[string]levels{}
	var block []string // tags of the block
	depth := 0
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		text, comment, _ := strings.Cut(lines.Text(), "#")
		text = strings.TrimSpace(text)
		tags := strings.Fields(strings.ReplaceAll(comment, "#", " "))
		switch {
		case text == "", strings.HasSuffix(text, ":"), strings.Contains(text, "*"):
		case strings.HasSuffix(text, "{"):
			if depth++; depth == 1 {
				block = tags
			}
		case strings.HasPrefix(text, "}"):
			depth--
		case depth == 1 && strings.HasSuffix(text, ";"):
			name := strings.Trim(strings.TrimSuffix(text, ";"), `" `)
			l, err := levelsOf(append(slices.Clone(block), tags...))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if was, ok := out[name]; ok { // an architecture each
				for i := range l {
					if was[i] != nowhere {
						l[i] = was[i]
					}
				}
			}
			out[name] = l
		case depth != 2: // C++ names are patterns
			return nil, fmt.Errorf("line %d: %q", n, text)
		}
	}
	return out, lines.Err()
}

// levelsOf returns the API levels that tags name: later tags replace earlier ones.
func levelsOf(tags []string) (l levels, err error) {
	some := slices.ContainsFunc(tags, func(t string) bool { return slices.Contains(architectures, t) })
	for i, arch := range architectures {
		level := oldest
		for _, t := range tags {
			key, value, ok := strings.Cut(t, "=")
			if !ok || key != "introduced" && key != "introduced-"+arch {
				continue
			}
			if level, err = strconv.Atoi(value); err != nil {
				return l, err
			}
		}
		if l[i] = strconv.Itoa(max(level, oldest)); some && !slices.Contains(tags, arch) {
			l[i] = nowhere
		}
	}
	return l, nil
}
