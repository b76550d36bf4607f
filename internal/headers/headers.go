// Package headers reads the public headers of a library with a compiler: the types that its exports
// have, for a library without debug information, and what programs compile into their own code,
// which are macros, inline functions and default arguments.
//
// The compiler is run on the headers, so they must be the user's own: the App does not use this
// package.
package headers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Headers are files that a program may include.
type Headers struct {
	files   []string // absolute paths, in order of discovery
	include []string // folders of the compiler's search path

	// set by Source: what can be included together, and whether the compiler reads it as C++
	groups [][]string
	cxx    bool
}

// maxGroups limits in how many files headers are included that exclude each other.
const maxGroups = 4

// maxFiles limits the headers of one library.
const maxFiles = 5000

// Extension reports whether a file name is that of a header.
func Extension(name string) bool {
	switch filepath.Ext(name) {
	case ".h", ".hh", ".hpp", ".hxx", ".H", ".h++":
		return true
	}
	return false
}

// Add adds a header, or the headers in a folder and its subfolders. The folder itself, and the
// folders named include in it with those of one architecture, are searched for what a header
// includes.
func (h *Headers) Add(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		h.files = append(h.files, path)
		h.search(filepath.Dir(path))
		return nil
	}
	h.search(path)
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if d.Name() == "include" || filepath.Base(filepath.Dir(p)) == "include" &&
				strings.Contains(d.Name(), "-linux-") {
				h.search(p)
			}
		case Extension(p):
			if len(h.files) == maxFiles {
				return fmt.Errorf("%s has more than %d headers; name the folder that programs use",
					path, maxFiles)
			}
			h.files = append(h.files, p)
		}
		return nil
	})
}

func (h *Headers) search(folder string) {
	if !slices.Contains(h.include, folder) {
		h.include = append(h.include, folder)
	}
}

// Compiler is the command of GCC or Clang, with arguments.
type Compiler []string

// Find returns the compiler that a command names; for "" the first of gcc, clang and cc that is
// installed.
func Find(command string) (Compiler, error) {
	if c := strings.Fields(command); len(c) > 0 {
		_, err := exec.LookPath(c[0])
		return c, err
	}
	for _, name := range []string{"gcc", "clang", "cc"} {
		if _, err := exec.LookPath(name); err == nil {
			return Compiler{name}, nil
		}
	}
	return nil, errors.New("no compiler is installed to read headers with; install gcc or clang")
}

// maxOutput limits what is read of a compiler's output, in bytes.
const maxOutput = 256 << 20

// run runs the compiler in a folder and returns what it prints. The error of a compiler that found
// mistakes is an *exec.ExitError.
func (c Compiler) run(
	ctx context.Context, dir string, args ...string,
) (out, errs []byte, err error) {
	cmd := exec.CommandContext(ctx, c[0], append(slices.Clone(c[1:]), args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	stdout, stderr := &limited{left: maxOutput}, &limited{left: maxOutput}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = cmd.Run()
	return stdout.Bytes(), stderr.Bytes(), err
}

// limited keeps the first bytes that are written to it.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	kept := p[:min(len(p), l.left)]
	l.left -= len(kept)
	l.Buffer.Write(kept)
	return len(p), nil
}

// maxRounds limits how often the compiler is started for one library, with the lines left out that
// it rejected before.
const maxRounds = 100

// source is a file that includes the headers and then refers to what they declare.
type source struct {
	headers, lines []string
	cxx            bool
}

// prelude are headers that those of C libraries take for granted.
const prelude = "#include <stddef.h>\n#include <stdint.h>\n#include <stdarg.h>\n" +
	"#include <stdio.h>\n#include <sys/types.h>\n"

const first = 6 // number of the first line after prelude

func (s *source) name() string {
	if s.cxx {
		return "probe.cc"
	}
	return "probe.c"
}

func (s *source) text(head string) string {
	var b strings.Builder
	b.WriteString(prelude)
	for _, h := range s.headers {
		fmt.Fprintf(&b, "#include %q\n", h)
	}
	b.WriteString(head + "\n")
	for _, l := range s.lines {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// rejected are the places that the compiler names in the file, "probe.c:12:", or as the origin of
// an included one, "from probe.c:12,".
var (
	rejectedLine     = lazyregexp.New(`(?m)^probe\.cc?:(\d+):\d+: (?:fatal )?error: `)
	rejectedIncluded = lazyregexp.New(`(?m)(?:from |^)probe\.cc?:(\d+)[:,]\d*[:,]?`)
)

// write writes the file to a folder.
func (s *source) write(dir, head string) error {
	return os.WriteFile(filepath.Join(dir, s.name()), []byte(s.text(head)), 0o600)
}

// Rejected is a header that the compiler cannot read as programs would include it.
type Rejected struct {
	Header string
	Reason string // the first error
}

// compiles leaves out what the compiler rejects, and returns the headers among it. head is one line
// that follows the headers.
func (s *source) compiles(
	ctx context.Context, c Compiler, dir, head string, args []string,
) (bad []Rejected, err error) {
	for range maxRounds {
		if err := s.write(dir, head); err != nil {
			return nil, err
		}
		_, errs, err := c.run(ctx, dir, append(args, "-fsyntax-only", s.name())...)
		var exit *exec.ExitError
		if err == nil {
			return bad, nil
		} else if !errors.As(err, &exit) {
			return nil, fmt.Errorf("%s: %w", c[0], err)
		}
		lines := map[int]bool{}
		for _, m := range rejectedLine.FindAllStringSubmatch(string(errs), -1) {
			n, _ := strconv.Atoi(m[1])
			lines[n-first-len(s.headers)-1] = true
		}
		if out := s.include(errs); len(out) > 0 {
			bad = append(bad, out...)
			continue
		}
		before := len(s.lines)
		var kept []string
		for i, l := range s.lines {
			if !lines[i] {
				kept = append(kept, l)
			}
		}
		if s.lines = kept; len(kept) == before {
			return nil, fmt.Errorf("%s: %s", c[0], firstError(errs))
		}
	}
	return nil, fmt.Errorf("%s: more than %d headers have mistakes; name fewer with --old-headers "+
		"and --new-headers, or the missing folders as --cc 'gcc -I FOLDER'", c[0], maxRounds)
}

// include removes the headers in which, or in what they include, the compiler finds mistakes.
// Some may be consequences of others: these are tried again without them.
func (s *source) include(errs []byte) (bad []Rejected) {
	reasons := map[int]string{} // by index in headers
	at := -1                    // of the header that the current lines are about
	for line := range strings.Lines(string(errs)) {
		if m := rejectedIncluded.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			at = n - first
		}
		if _, message, ok := strings.Cut(line, "error: "); ok && at >= 0 && at < len(s.headers) &&
			reasons[at] == "" {
			reasons[at] = strings.TrimSpace(message)
		}
	}
	// what a header says itself is no consequence
	sure := func(reason string) bool {
		return strings.HasPrefix(reason, "#error") || strings.Contains(reason, "No such file") ||
			strings.Contains(reason, "file not found")
	}
	some := false
	for _, reason := range reasons {
		some = some || sure(reason)
	}
	all := len(reasons) == len(s.headers)
	var kept []string
	for i, h := range s.headers {
		reason := reasons[i]
		switch {
		case reason != "" && sure(reason),
			reason != "" && !some && (!all || len(bad) == 0): // of all the first one
			bad = append(bad, Rejected{h, reason})
		default:
			kept = append(kept, h)
		}
	}
	s.headers = kept
	return bad
}

// provide adds the folder of a header that another one includes by a longer path; false if there is
// none: libfoo/foo.h, which includes libfoo/types.h, in include/libfoo-2.
func (h *Headers) provide(bad []Rejected) (added bool) {
	for _, r := range bad {
		name, ok := strings.CutSuffix(r.Reason, ": No such file or directory")
		if !ok {
			name, ok = strings.CutSuffix(r.Reason, "' file not found")
			name = strings.TrimPrefix(name, "'")
		}
		for _, f := range h.files {
			dir, found := strings.CutSuffix(f, "/"+name)
			if ok && found && !slices.Contains(h.include, dir) {
				h.search(dir)
				added = true
				break
			}
		}
	}
	return added
}

// firstError returns the first error of a compiler's output.
func firstError(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if _, message, ok := strings.Cut(line, "error: "); ok {
			return strings.TrimSpace(message)
		}
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// arguments returns the compiler's arguments for the headers.
func (h *Headers) arguments() []string {
	args := []string{"-x", "c", "-w"}
	if h.cxx {
		args[1] = "c++"
	}
	for _, dir := range h.include {
		args = append(args, "-I", dir)
	}
	return args
}
