package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// Verdict is how compat's answer compares with what happens.
type Verdict string

const (
	Agree Verdict = "agreement"
	// FalsePass: something does not load, and compat neither fails nor names it.
	FalsePass Verdict = "false pass"
	// FalseAlarm: compat fails, and everything loads.
	FalseAlarm Verdict = "false alarm"
	Unchecked  Verdict = "not checked" // compat could not check it
	// Unknown: compat fails, and the import fails for a reason that hides others.
	Unknown Verdict = "not known"
	// NotRun: it was not installed, or not all of it was opened, in the time that the survey has.
	NotRun Verdict = "not run"
)

// truth is what happens with a wheel or an environment.
type truth struct {
	fails   map[string]string // what loading an object or module reports, by its path or name
	other   string            // why a package cannot be imported for another reason; "" if it can
	opened  int               // objects
	notRun  []string          // distributions of which not all objects were opened in time
	tags    string            // what auditwheel says of the tags; "" if it agrees with them
	stable  string            // what abi3audit says; "" if it finds nothing
	refuted bool              // the symbols need a newer tag
}

//go:embed probe.py
var probe string

// linkError matches the errors of the loader, and of NumPy about another ABI. Others have other
// causes, such as a missing display.
var linkError = regexp.MustCompile(`cannot open shared object|undefined symbol|` +
	`version .* not found|wrong ELF class|invalid ELF header|static TLS block|executable stack|ELF load command|` +
	`NumPy 1\.x|against ABI version|against API version|size changed, may indicate|` +
	`multiarray failed to import|_ARRAY_API not found|_multiarray_umath failed|umath failed to import`)

// maxProbe limits the time for an environment. Each object is opened in a process that imports
// what it needs, so those of scikit-learn and SciPy take some minutes.
const maxProbe = 15 * time.Minute

// probe imports installed distributions, and opens their objects.
func (s *survey) probe(ctx context.Context, dir string, distributions []string) *truth {
	t := &truth{fails: map[string]string{}}
	script := filepath.Join(dir, "probe.py")
	if err := os.WriteFile(script, []byte(probe), 0o600); err != nil {
		t.fails["probe.py"] = err.Error()
		return t
	}
	ctx, stop := context.WithTimeout(ctx, maxProbe)
	defer stop()
	for _, d := range distributions {
		if err := s.probeOne(ctx, dir, t, script, d); err != nil {
			// The import ends the process; the objects are opened without it.
			err = s.probeOne(ctx, dir, t, script, d, "--no-import")
			if err != nil || ctx.Err() != nil {
				t.notRun = append(t.notRun, d)
			}
		}
	}
	return t
}

func (s *survey) probeOne(
	ctx context.Context, dir string, t *truth, script, distribution string, more ...string,
) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	// What the import started may keep the pipe open.
	defer context.AfterFunc(ctx, func() { read.Close() })()
	c := exec.CommandContext(ctx, filepath.Join(dir, "venv", "bin", "python"),
		append([]string{script, distribution}, more...)...)
	c.Dir, c.ExtraFiles = dir, []*os.File{write}
	c.Env = append(os.Environ(), "HOME="+dir, "QT_QPA_PLATFORM=offscreen", "PYTHONWARNINGS=ignore")
	c.WaitDelay = time.Second
	err = c.Start()
	write.Close()
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(read); lines.Scan(); {
		var row struct{ Import, Object, Error string }
		if json.Unmarshal(lines.Bytes(), &row) != nil {
			continue
		}
		if row.Object != "" {
			t.opened++
		}
		switch {
		case linkError.MatchString(row.Error):
			t.fails[row.Import+row.Object] = row.Error
		case row.Import != "" && row.Error != "":
			t.other = row.Import + ": " + row.Error
		}
	}
	return c.Wait()
}

var (
	consistent = regexp.MustCompile(`(?s)following\s+platform\s+tag:\s+"([^"]+)"`)
	bySymbols  = regexp.MustCompile(`constrains\s+the\s+platform\s+tag\s+to\s+"([^"]+)"`)
)

// auditwheel returns the tag that auditwheel gives a wheel, the one that its symbols allow, and the
// newest of its name.
func (s *survey) auditwheel(
	ctx context.Context, dir, file string,
) (overall, symbols, claimed string) {
	out, err := s.command(ctx, dir, "auditwheel", "show", file)
	if m := consistent.FindStringSubmatch(out); err == nil && m != nil {
		overall, symbols = m[1], m[1]
	}
	if m := bySymbols.FindStringSubmatch(out); m != nil {
		symbols = m[1]
	}
	if name, err := pkgmeta.ParseWheelName(filepath.Base(file)); err == nil {
		for _, t := range name.Tags {
			if claimed == "" || later(t.Platform, claimed) {
				claimed = t.Platform
			}
		}
	}
	return overall, symbols, claimed
}

// later reports whether a tag is for a newer glibc or musl than another one. linux_x86_64, which is
// for systems that have all that the wheel needs, is the newest.
func later(tag, than string) bool {
	a, b := platform.ParseTag(tag), platform.ParseTag(than)
	if a.Libc == "" || b.Libc == "" { // linux_x86_64
		return a.Libc == "" && b.Libc != ""
	}
	return slices.Compare(a.Version[:], b.Version[:]) > 0
}

// tag adds what auditwheel says.
func (t *truth) tag(overall, symbols, claimed string) {
	if overall == "" {
		t.tags = "auditwheel gives no tag"
	} else if later(overall, claimed) {
		t.tags = fmt.Sprintf("auditwheel: %s, by its symbols %s; claimed %s", overall, symbols, claimed)
		// Of a wheel that needs libraries of the system, the symbols are also theirs.
		t.refuted = later(symbols, claimed) && platform.ParseTag(overall).Libc != ""
	}
}

// abi3audit adds what abi3audit says of a wheel for the stable ABI.
func (s *survey) abi3audit(ctx context.Context, dir, file string, t *truth) {
	if !strings.Contains(filepath.Base(file), "-abi3-") {
		return
	}
	if _, err := s.command(ctx, dir, "uvx", "abi3audit", "--strict", file); err != nil {
		t.stable = "abi3audit: it uses symbols outside of the stable ABI of its tag"
	}
}

// untagged is the truth without the tags.
func (t *truth) untagged() *truth {
	return &truth{fails: t.fails, stable: t.stable, other: t.other, opened: t.opened, notRun: t.notRun}
}

// checked is an answer of compat.
type checked struct {
	report  *analyzer.Report
	err     string
	seconds float64
}

// check runs compat.
func (s *survey) check(ctx context.Context, dir string, args ...string) checked {
	begin := time.Now()
	out, err := s.command(ctx, dir, s.compat, append(args, "--format", "json")...)
	c := checked{report: &analyzer.Report{}, seconds: time.Since(begin).Seconds()}
	if json.NewDecoder(bytes.NewReader([]byte(out))).Decode(c.report) != nil {
		c.report = nil
		c.err = fmt.Sprint(err)
	}
	return c
}

// compare makes the row of an answer.
func (t *truth) compare(what, mode string, c checked) Row {
	r := Row{What: what, System: "linux", Mode: mode, Objects: t.opened, Seconds: c.seconds}
	for _, at := range slices.Sorted(maps.Keys(t.fails)) {
		r.Truth += at + ": " + t.fails[at] + "\n"
	}
	r.Truth += t.tags + t.stable + t.other
	if len(t.notRun) > 0 {
		r.Truth += "not all was opened of " + strings.Join(t.notRun, ", ") + "\n"
	}
	if c.report == nil {
		r.Verdict, r.Compat = Unchecked, c.err
		return r
	}
	r.Compat = answer(c.report)
	silent := slices.ContainsFunc(slices.Collect(maps.Keys(t.fails)), func(at string) bool {
		return !named(c.report, at, t.fails[at])
	})
	switch failed := c.report.Outcome == analyzer.OutcomeFail; {
	case c.report.Outcome == analyzer.OutcomeError:
		r.Verdict = Unchecked
	case len(t.notRun) > 0 && (!failed && !silent || failed && len(t.fails) == 0 &&
		t.tags+t.stable == ""):
		r.Verdict = NotRun
	case failed && len(t.fails) == 0 && t.tags+t.stable == "" && t.other != "":
		r.Verdict = Unknown
	case failed && len(t.fails) == 0 && t.tags+t.stable == "":
		r.Verdict = FalseAlarm
	case !failed && (silent || t.refuted && !namesVersion(c.report)):
		r.Verdict = FalsePass
	default:
		r.Verdict = Agree
	}
	return r
}

// named reports whether compat has a finding about what does not load: the object, the library or
// the symbol in the loader's message. A module fails for the reason of an object.
func named(r *analyzer.Report, at, message string) bool {
	return slices.ContainsFunc(r.Findings, func(f analyzer.Finding) bool {
		about := f.Object != "" && strings.HasSuffix(at, f.Object) ||
			f.Library != "" && strings.Contains(message, f.Library) ||
			f.Symbol != "" && strings.Contains(message, f.Symbol) ||
			f.Object != "" && strings.Contains(message, filepath.Base(f.Object)) ||
			f.Object != "" && f.Package != "" && strings.Contains(message, f.Package+".")
		return about && f.Severity != analyzer.Note
	})
}

// namesVersion reports whether compat has a finding about a symbol version.
func namesVersion(r *analyzer.Report) bool {
	return slices.ContainsFunc(r.Findings, func(f analyzer.Finding) bool {
		return f.Version != "" && f.Severity != analyzer.Note
	})
}

// answer is what a user reads of a report first.
func answer(r *analyzer.Report) string {
	text := string(r.Outcome) + "\n"
	for _, f := range r.Findings {
		if f.Severity == analyzer.Error && strings.Count(text, "\n") < 6 {
			text += f.Rule + ": " + f.Message + "\n"
		}
	}
	for _, u := range r.Unread {
		if r.Outcome == analyzer.OutcomeError {
			text += u.Path + ": " + u.Reason + "\n"
		}
	}
	return text
}
