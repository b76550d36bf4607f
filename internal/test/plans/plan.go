package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
)

// plan is what came out for a wheel.
type plan struct {
	row
	compat string

	name          string
	before, after *report
	written       string // path of the wheel that compat wrote; "" if it wrote none
	fixed, left   []string
	opened        int
	commands      []string
	failed        []string // of commands, with the message
	problems      []string
}

// report is the part of a report that is compared.
type report struct {
	Verdict  string
	Unread   []struct{ Path, Reason string }
	Findings []struct{ Rule, Severity, Artifact, Object, Symbol, Version, Library string }
	Causes   []struct {
		ID, Title, Severity string
		Fixes               []cure
	}
	Plan struct {
		Command  string
		Verified bool
		Leaves   []string
		Fixes    []struct {
			Cause string
			cure
		}
	}
}

// cure is a fix of a cause.
type cure struct {
	Title, Command, Kind string
	Verified             bool
}

// errors returns the findings that are errors, with what does not depend on the name of the wheel.
func (r *report) errors() map[string]bool {
	out := map[string]bool{}
	for _, f := range r.Findings {
		if f.Severity == string(analyzer.Error) {
			out[strings.Join([]string{f.Rule, filepath.Base(f.Object), f.Symbol, f.Version, f.Library},
				" ")] = true
		}
	}
	return out
}

func (p *plan) differs(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// limit is how long a program may run.
const limit = 10 * time.Minute

// program runs a program in a folder, and returns what it printed.
func program(ctx context.Context, dir string, env []string, name string, args ...string) (
	[]byte, error,
) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	return c.CombinedOutput()
}

func (p *plan) run(ctx context.Context, dir string) error {
	published, err := p.download(ctx, dir)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	file, err := damaged(published, p.damage, scratch)
	if err != nil {
		return err
	}
	p.name = filepath.Base(file)
	if p.before, err = p.check(ctx, file); err != nil {
		return err
	}
	if err := p.fix(ctx, scratch, file); err != nil {
		return err
	}
	p.tried()
	if p.written != "" {
		if err := p.result(ctx, scratch, file); err != nil {
			return err
		}
	}
	return p.printed(ctx, scratch, file)
}

// check returns the report about a wheel.
func (p *plan) check(ctx context.Context, file string) (*report, error) {
	c := exec.CommandContext(ctx, p.compat, "check", "--format", "json", filepath.Base(file))
	c.Dir = filepath.Dir(file)
	var message bytes.Buffer
	c.Stderr = &message
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	r := &report{}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("check: %w: %s", err, tail(message.Bytes()))
	}
	return r, nil
}

// cause matches the end of a line of compat fix: the ID of a cause.
var cause = regexp.MustCompile(` \[([a-z0-9.+_-]+)\]$`)

// fix writes the wheel twice with compat fix, in two time zones.
func (p *plan) fix(ctx context.Context, scratch, file string) error {
	original, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var first []byte
	for n, zone := range []string{"UTC", "Pacific/Kiritimati"} {
		to := filepath.Join(scratch, fmt.Sprintf("out%d", n))
		out, err := program(ctx, scratch, []string{"TZ=" + zone}, p.compat, "fix", "--write", to,
			p.name)
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
		if exit != nil && exit.ExitCode() != 1 {
			p.differs("compat fix: %v: %s", err, tail(out))
		}
		if n == 0 {
			p.read(string(out))
		}
		files, err := filepath.Glob(filepath.Join(to, "*.whl"))
		if err != nil {
			return err
		}
		if len(files) != min(len(p.fixed), 1) {
			p.differs("compat fix wrote %d wheels and says that it removed %q", len(files), p.fixed)
		}
		if len(files) == 0 {
			continue
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			return err
		}
		if n == 0 {
			p.written, first = files[0], b
		} else if !bytes.Equal(first, b) || filepath.Base(p.written) != filepath.Base(files[0]) {
			p.differs("compat fix wrote two different wheels")
		}
	}
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, original) {
		p.differs("compat fix changed the original")
	}
	return nil
}

// read reads which causes compat fix removed.
func (p *plan) read(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		m := cause.FindStringSubmatch(line)
		switch {
		case m == nil:
		case strings.HasPrefix(line, "not fixed: "), strings.HasPrefix(line, "partly fixed: "):
			p.left = append(p.left, m[1])
		case strings.HasPrefix(line, "  "):
			p.fixed = append(p.fixed, m[1])
		}
	}
}

// changes are the kinds of fixes that change the files of a wheel.
var changes = []string{"platform-tag", "patchelf", "dependency", "pin"}

// tried compares what compat check calls tried with what compat fix did.
func (p *plan) tried() {
	for _, c := range p.before.Causes {
		var x cure
		if len(c.Fixes) > 0 {
			x = c.Fixes[0]
		}
		for _, f := range p.before.Plan.Fixes {
			if f.Cause == c.ID {
				x = f.cure
			}
		}
		applied := slices.Contains(p.fixed, c.ID)
		switch of := slices.Contains(changes, x.Kind) && strings.Contains(x.Command, "compat fix") ||
			strings.Contains(x.Command, "wheel tags"); {
		case x.Verified && of && !applied:
			p.differs("%s: %q is called tried, and compat fix did not do it", c.ID, x.Title)
		case applied && !x.Verified && !strings.Contains(x.Title, "undle"):
			p.differs("%s: compat fix did %q, which is not called tried", c.ID, x.Title)
		}
		if !applied && !slices.Contains(p.left, c.ID) {
			p.differs("%s is neither fixed nor left", c.ID)
		}
	}
}

// result asks compat and other programs about the wheel that was written.
func (p *plan) result(ctx context.Context, scratch, file string) (err error) {
	if p.after, err = p.check(ctx, p.written); err != nil {
		return err
	}
	for _, c := range p.after.Causes {
		if slices.Contains(p.fixed, c.ID) && !slices.Contains(p.left, c.ID) {
			p.differs("%s is still there in what compat fix wrote", c.ID)
		}
	}
	was := p.before.errors()
	for e := range p.after.errors() {
		if !was[e] {
			p.differs("a new error in what compat fix wrote: %s", e)
		}
	}
	if len(p.after.Unread) > len(p.before.Unread) {
		p.differs("not read: %s", p.after.Unread[0].Reason)
	}
	if p.before.Plan.Verified && len(p.before.Plan.Leaves) == 0 && len(p.after.errors()) > 0 &&
		len(p.left) == 0 {
		p.differs("the plan leaves no error, but the wheel has %d", len(p.after.errors()))
	}
	p.peers(ctx, scratch)
	p.open(ctx, scratch, file)
	again, err := program(ctx, scratch, nil, p.compat, "fix", "--write", "again", p.written)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	next := plan{}
	next.read(string(again))
	if len(next.fixed) > 0 {
		p.differs("compat fix of what compat fix wrote changes it again: %q", next.fixed)
	}
	return nil
}

// peers asks the programs that a wheel is given to.
func (p *plan) peers(ctx context.Context, scratch string) {
	name := strings.Split(strings.TrimSuffix(filepath.Base(p.written), ".whl"), "-")
	install := []string{"-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
		"--no-index", "--no-compile", "--ignore-requires-python", "--only-binary", ":all:",
		"--target", filepath.Join(scratch, "after"), "--python-version", p.python,
		"--implementation", "cp", "--abi", "cp" + strings.ReplaceAll(p.python, ".", ""), "--abi",
		"abi3", "--abi", "none"}
	for _, tag := range strings.Split(name[len(name)-1], ".") {
		install = append(install, "--platform", tag)
	}
	if name[len(name)-1] == "any" {
		install = append(install, "--platform", p.platform)
	}
	for _, c := range [][]string{
		append([]string{"python3"}, append(install, p.written)...),
		{"python3", "-m", "zipfile", "-t", p.written},
		{"wheel", "unpack", "--dest", filepath.Join(scratch, "unpacked"), p.written},
	} {
		if out, err := program(ctx, scratch, nil, c[0], c[1:]...); err != nil {
			p.differs("%s: %v: %s", strings.Join(c[:min(len(c), 3)], " "), err, tail(out))
		}
	}
	readers := [][]string{{"twine", "check"}}
	if strings.Contains(p.name, "linux") {
		readers = append(readers, []string{"auditwheel", "show"})
	}
	for _, c := range readers { // what they say of the wheel as it was, they may say again
		out, err := program(ctx, scratch, nil, c[0], c[1], p.written)
		if err == nil {
			continue
		}
		if _, before := program(ctx, scratch, nil, c[0], c[1], p.name); before == nil {
			p.differs("%s %s: %v: %s", c[0], c[1], err, tail(out))
		}
	}
}

// missing matches the message about a library that is not found. One of another package may be
// missing after one of the wheel was found, because these packages are not installed.
var missing = regexp.MustCompile(`^(\S+): cannot open shared object file`)

//go:embed open.py
var opener string

// open opens each shared library for this machine, in the wheel as it was and as it was written.
func (p *plan) open(ctx context.Context, scratch, file string) {
	if !strings.Contains(p.name, "linux") || strings.Contains(p.name, "musllinux") {
		return
	}
	old := filepath.Join(scratch, "before")
	if out, err := program(ctx, scratch, nil, "python3", "-m", "zipfile", "-e", file, old); err != nil {
		p.differs("python -m zipfile -e: %v: %s", err, tail(out))
		return
	}
	python, err := program(ctx, scratch, nil, "uv", "python", "find", p.python)
	if err != nil {
		p.differs("uv python find: %v", err)
		return
	}
	said := func(dir string) (out map[string]string) {
		text, err := program(ctx, scratch, nil, strings.TrimSpace(string(python)), "-c", opener, dir)
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil {
			p.differs("opening the libraries: %v: %s", err, tail(text))
		}
		return out
	}
	before, after := said(old), said(filepath.Join(scratch, "after"))
	p.opened += len(after)
	own := map[string]bool{} // names of libraries in the wheel
	for name := range after {
		own[filepath.Base(name)] = true
	}
	for name, text := range after {
		m := missing.FindStringSubmatch(text)
		further := m != nil && !own[m[1]] && missing.MatchString(before[name])
		if was, ok := before[name]; text != "" && ok && was != text && !further {
			p.differs("%s: before: %q, after: %q", name, was, text)
		}
	}
}

// installs matches steps that install something, which are not run.
var installs = regexp.MustCompile(`^(sudo |pip3? |python\S* -m pip |uv |apt|conda |brew |dnf |yum |` +
	`apk |export |CIBW|docker )`)

// printed runs the commands of the first fixes in their order, in a folder of their own.
func (p *plan) printed(ctx context.Context, scratch, file string) error {
	dir := filepath.Join(scratch, "printed")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, p.name), b, 0o644); err != nil {
		return err
	}
	tried := map[string]bool{p.before.Plan.Command: true}
	all := []string{p.before.Plan.Command}
	for _, c := range p.before.Causes {
		if len(c.Fixes) > 0 {
			x := c.Fixes[0]
			all = append(all, x.Command)
			tried[x.Command] = tried[x.Command] || x.Verified
		}
	}
	done := map[string]bool{}
	for _, c := range all {
		if installs.MatchString(c) && !done[c] { // what a bundler copies, for example
			_, rest, _ := strings.Cut(c, " && ")
			tried[rest] = tried[rest] || tried[c]
			c = rest
		}
		if done[c] || installs.MatchString(c) || !strings.Contains(c, ".whl") {
			continue
		}
		done[c] = true
		p.commands = append(p.commands, c)
		if out, err := program(ctx, dir, nil, "bash", "-e", "-c", c); err != nil {
			p.failed = append(p.failed, fmt.Sprintf("%s: %v: %s", c, err, tail(out)))
			if tried[c] {
				p.differs("tried, but it fails: %s: %v: %s", c, err, tail(out))
			}
		}
	}
	return nil
}

// print prints a line for the wheel and each disagreement, and adds to the totals.
func (p *plan) print(t *totals) {
	t.wheels++
	t.differences += len(p.problems)
	t.commands += len(p.commands)
	t.failed += len(p.failed)
	t.opened += p.opened
	result := "nothing written"
	if p.written != "" && p.after != nil {
		t.written++
		result = filepath.Base(p.written)
		if left, was := len(p.after.errors()), len(p.before.errors()); left == 0 {
			t.clean++
		} else if left < was {
			t.lessErrors++
		}
		result += fmt.Sprintf(", errors %d -> %d", len(p.before.errors()), len(p.after.errors()))
	}
	n := 0
	if p.before != nil {
		n = len(p.before.Causes)
	}
	t.causes += n
	t.most = max(t.most, n)
	fmt.Printf("%s: %d causes, fixed %q, left %q; %s\n", p.row, n, p.fixed, p.left, result)
	for _, f := range p.failed {
		fmt.Printf("  a command fails: %s\n", f)
	}
	for _, text := range p.problems {
		fmt.Printf("  DIFFERENT: %s\n", text)
	}
}
