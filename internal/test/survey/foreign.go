package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// notBundled matches what delvewheel lists: libraries that are neither in the wheel nor part of
// Windows.
var notBundled = regexp.MustCompile(`(?s)will be copied into the wheel\.\n(.*?)\n\n`)

// foreign compares what compat says of a wheel for another system with the tool of that system:
// auditwheel, LLVM's otool or delvewheel. These tools run on Linux and execute nothing of the
// wheel. If only compat has an error, the wheel of the release for this system is imported.
func (s *survey) foreign(ctx context.Context, dir string, w drawn) ([]Row, error) {
	file, err := s.download(ctx, dir, w)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(file); err == nil && !s.spend(info.Size()) {
		return nil, errLeft
	}
	t := &truth{fails: map[string]string{}}
	switch w.System {
	case "musl":
		// On a system without musl it takes the newest version for the one of each wheel.
		overall, symbols, claimed := s.auditwheel(ctx, dir, file)
		if platform.ParseTag(overall).Libc == "" {
			t.tag(overall, symbols, claimed)
		}
	case "macos":
		if t.tags, err = s.machO(ctx, dir, file); err != nil {
			return nil, err
		}
	case "windows":
		out, err := s.command(ctx, dir, "uvx", "delvewheel", "show", file)
		if m := notBundled.FindStringSubmatch(out); m != nil && strings.TrimSpace(m[1]) != "None" {
			t.tags = strings.Join(strings.Fields(m[1]), " ")
		}
		if err != nil {
			t.tags += err.Error()
		}
	}
	c := s.check(ctx, dir, "check", file)
	if t.compare(w.label(), "", c).Verdict == FalseAlarm {
		if err := s.here(ctx, dir, w, t); err != nil {
			return nil, err
		}
	}
	row := t.compare(w.label(), "check", c)
	row.System = w.System
	return []Row{row}, nil
}

// here adds what does not load of the wheel that the release has for this system. The tools of other
// systems know nothing of the packages that a wheel requires, such as another NumPy. If it cannot
// be installed, it is not known whether compat is right.
func (s *survey) here(ctx context.Context, dir string, w drawn, t *truth) error {
	pins, err := s.compile(ctx, dir, []string{w.String()}, w.Python, "")
	if errors.Is(err, errLeft) {
		t.other = "the wheel for this system was not installed: " + err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.install(ctx, dir, pins, w.Python); err != nil {
		return err
	}
	own := s.probe(ctx, dir, []string{w.Name})
	t.fails, t.other, t.notRun = own.fails, own.other, own.notRun
	return nil
}

// machO returns the libraries of a wheel for macOS that are neither in it nor part of the system,
// and the objects that were built for a newer macOS than all of its tags, as otool lists them.
func (s *survey) machO(ctx context.Context, dir, file string) (wrong string, err error) {
	at := filepath.Join(dir, "unpacked")
	if _, err := s.command(ctx, dir, "python3", "-m", "zipfile", "-e", file, at); err != nil {
		return "", err
	}
	bundled := map[string]bool{}
	var binaries []string
	err = filepath.WalkDir(at, func(path string, d os.DirEntry, err error) error {
		if d != nil && !d.IsDir() {
			bundled[d.Name()] = true
			// ._NAME has attributes of NAME
			if ext := filepath.Ext(path); (ext == ".so" || ext == ".dylib") && d.Name()[0] != '.' {
				binaries = append(binaries, path)
			}
		}
		return err
	})
	name, nameErr := pkgmeta.ParseWheelName(filepath.Base(file))
	if err := cmp.Or(err, nameErr); err != nil {
		return "", err
	}
	for _, b := range binaries {
		out, err := s.command(ctx, dir, "llvm-otool", "-L", b)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(out) {
			name, _, ok := strings.Cut(strings.TrimSpace(line), " (compatibility")
			if ok && !strings.HasPrefix(name, "/usr/lib/") && !strings.HasPrefix(name, "/System/") &&
				!bundled[filepath.Base(name)] {
				wrong += name + " "
			}
		}
		if out, err = s.command(ctx, dir, "llvm-otool", "-l", b); err != nil {
			return "", err
		}
		if v := builtFor(out, name.Tags); v != "" {
			wrong += filepath.Base(b) + " was built for macOS " + v + " "
		}
	}
	return wrong, nil
}

// minimum matches the oldest macOS of an object for arm64 in its load commands, as otool lists
// them.
var minimum = regexp.MustCompile(`(?m)^\s*minos (\d+)(?:\.(\d+))?`)

// builtFor returns the oldest macOS that an object was built for, given its load commands, if all
// of the tags are for older ones, else "". delocate refuses such a wheel.
func builtFor(commands string, tags []pkgmeta.Tag) string {
	m := minimum.FindStringSubmatch(commands)
	if m == nil {
		return ""
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major <= 11 { // the first for arm64, whatever older version a tag for two architectures names
		return ""
	}
	for _, t := range tags {
		claimed := platform.ParseTag(t.Platform).Version
		if slices.Compare([]int{major, minor, 0}, claimed[:]) <= 0 {
			return ""
		}
	}
	return m[1] + "." + cmp.Or(m[2], "0")
}
