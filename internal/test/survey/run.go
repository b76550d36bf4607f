package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/compat-app/compat/analyzer/platform"
)

// survey is what to draw, and the limits.
type survey struct {
	seed                  uint64
	wheels, locks, others int
	budget                int64 // MB
	dir, compat           string
	pythons               []string
	system                string // this system as a platform of compat: debian12

	mu    sync.Mutex
	spent int64 // bytes
}

// Results is the result for a seed.
type Results struct {
	Seed   uint64
	System string
	Date   string
	MB     int64 // downloaded
	Budget int64 `json:",omitempty"` // limit in MB for that; 0 = the default
	Locks  int   `json:",omitempty"` // lock files that were drawn; 0 = the default
	Rows   []Row
}

// Row is a comparison: a wheel or lock file, and one way to check it.
type Row struct {
	What    string // NAME==VERSION, or the projects of a lock file
	System  string // see drawn
	Mode    string // "check", "check --requirement" or "env"
	Verdict Verdict
	// What does not load, or what another tool says; "" if nothing is wrong.
	Truth   string  `json:",omitempty"`
	Compat  string  `json:",omitempty"` // the outcome and the errors of compat
	Objects int     // that were opened
	Seconds float64 `json:",omitempty"`
}

// defaultBudget is the default of -budget, in MB.
const defaultBudget = 2048

// defaultLocks is the default of -locks.
const defaultLocks = 10

// maxDownload limits what is downloaded for one environment, in bytes.
const maxDownload = 400 << 20

// maxCommand limits the time of a program: a resolution, an installation or a check.
const maxCommand = 15 * time.Minute

var (
	// errLeft is returned for what is left out: it has no set of wheels, or is too large.
	errLeft = errors.New("left out")
	// errSlow is returned for a program that takes longer than maxCommand.
	errSlow = errors.New("it takes too long")
)

// job is a wheel or a lock file to compare.
type job struct {
	what, system, mode string // of its first row
	run                func(dir string) ([]Row, error)
}

func (s *survey) run(ctx context.Context) (*Results, error) {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return nil, err
	}
	values := platform.OSRelease(string(release))
	s.system = values["ID"] + values["VERSION_ID"]
	d, err := newDrawing(s.seed, s.pythons, os.Getenv("PIP_INDEX_URL"))
	if err != nil {
		return nil, err
	}
	r := &Results{Seed: s.seed, System: s.system, Date: time.Now().Format(time.DateOnly)}
	var locks, own, others []job
	for range s.locks {
		projects, python, date := d.set()
		what := label(projects, python, date)
		locks = append(locks, job{what, "linux", "env", func(dir string) ([]Row, error) {
			return s.lock(ctx, dir, projects, python, date)
		}})
	}
	for n := range s.wheels + s.others {
		system := "linux"
		if n >= s.wheels {
			system = []string{"musl", "macos", "windows"}[(n-s.wheels)%3]
		}
		w, err := d.wheel(ctx, system)
		if err != nil {
			return nil, err
		}
		j := job{w.label(), system, "check", func(dir string) ([]Row, error) {
			return s.wheel(ctx, dir, w)
		}}
		if system == "linux" {
			own = append(own, j)
		} else {
			others = append(others, j)
		}
	}
	// Large environments use up the limit for downloads, so the others come before.
	r.Rows = s.all(slices.Concat(locks, others, own))
	r.MB = s.spent >> 20
	if s.budget != defaultBudget {
		r.Budget = s.budget
	}
	if s.locks != defaultLocks {
		r.Locks = s.locks
	}
	return r, nil
}

// all runs jobs, a few at a time, each in a folder of its own. One that fails has a row too.
func (s *survey) all(jobs []job) (rows []Row) {
	var wait sync.WaitGroup
	slots := make(chan bool, runtime.NumCPU())
	for n, j := range jobs {
		slots <- true
		wait.Go(func() {
			defer func() { <-slots }()
			dir := filepath.Join(s.dir, fmt.Sprintf("%d-%d", s.seed, n))
			defer os.RemoveAll(dir)
			err := os.MkdirAll(dir, 0o700)
			var more []Row
			if err == nil {
				more, err = j.run(dir)
			}
			if err != nil && !errors.Is(err, errLeft) {
				more = append(more, Row{What: j.what, System: j.system, Mode: j.mode, Verdict: NotRun,
					Truth: err.Error()})
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				fmt.Fprintf(os.Stderr, "%d: %s: %v\n", n, j.what, err)
			}
			for _, r := range more {
				fmt.Fprintf(os.Stderr, "%d: %s: %s %s: %s, %.0f s\n", n, r.What, r.System, r.Mode,
					r.Verdict, r.Seconds)
			}
			rows = append(rows, more...)
		})
	}
	wait.Wait()
	return rows
}

// command runs a program. The error has the end of its messages.
func (s *survey) command(ctx context.Context, dir, name string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, maxCommand)
	defer stop()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+dir, "UV_CACHE_DIR="+filepath.Join(s.dir, "uv"),
		"PIP_CACHE_DIR="+filepath.Join(s.dir, "pip"), "COMPAT_DATA="+filepath.Join(s.dir, "compat"),
		"UV_LINK_MODE=hardlink", "QT_QPA_PLATFORM=offscreen", "PYTHONWARNINGS=ignore")
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	c.WaitDelay = time.Second // its children may keep the pipes open
	err := c.Run()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args[:min(len(args), 2)], " "), errSlow)
	}
	if err != nil {
		text := strings.TrimSpace(messages.String())
		err = fmt.Errorf("%s: %w: %s", name, err, text[max(0, len(text)-600):])
	}
	return out.String(), err
}

// spend adds to what was downloaded. It is false if that is too much.
func (s *survey) spend(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > maxDownload || s.spent+size > s.budget<<20 {
		return false
	}
	s.spent += size
	return true
}

// wheel compares the ways to check a wheel.
func (s *survey) wheel(ctx context.Context, dir string, w drawn) ([]Row, error) {
	if w.System != "linux" {
		return s.foreign(ctx, dir, w)
	}
	pins, err := s.compile(ctx, dir, []string{w.String()}, w.Python, "")
	if err != nil {
		return nil, err
	}
	if err := s.install(ctx, dir, pins, w.Python); err != nil {
		return nil, err
	}
	file, err := s.download(ctx, dir, w)
	if err != nil {
		return nil, err
	}
	t := s.probe(ctx, dir, []string{w.Name})
	t.tag(s.auditwheel(ctx, dir, file))
	s.abi3audit(ctx, dir, file, t)
	alone := s.check(ctx, dir, "check", file)
	with := s.check(ctx, dir, "check", "--requirement", pins, "--platform", s.system, file)
	for _, c := range []checked{alone, with} {
		if c.report != nil && t.compare(w.label(), "", c).Verdict == FalseAlarm {
			s.older(ctx, dir, t, c.report)
		}
	}
	return []Row{
		t.compare(w.label(), "check", alone),
		t.untagged().compare(w.label(), "check --requirement", with),
	}, nil
}

// lock compares what env says of a lock file.
func (s *survey) lock(
	ctx context.Context, dir string, projects []string, python, date string,
) ([]Row, error) {
	projects, err := s.withWheels(ctx, dir, projects, python, date)
	if err != nil {
		return nil, err
	}
	if len(projects) == 0 {
		return nil, fmt.Errorf("%w: no project has wheels", errLeft)
	}
	what := label(projects, python, date)
	pins, err := s.compile(ctx, dir, projects, python, date)
	if err != nil {
		return nil, err
	}
	if err := s.install(ctx, dir, pins, python); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(pins)
	if err != nil {
		return nil, err
	}
	var installed []string
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(line, "=="); ok {
			installed = append(installed, name)
		}
	}
	t := s.probe(ctx, dir, installed)
	c := s.check(ctx, dir, "env", "--requirement", pins, "--python", python, "--platform", s.system)
	if c.report != nil && t.compare(what, "", c).Verdict == FalseAlarm {
		s.older(ctx, dir, t, c.report)
	}
	return []Row{t.compare(what, "env", c)}, nil
}
