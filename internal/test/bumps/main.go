// Bumps reviews commits that change the pins of packages with native code, and prints a table of
// the results in Markdown.
//
//	go run ./internal/test/bumps [-commits LIST] [-repos DIR] COMPAT
//
// A line of LIST is OWNER/NAME, the path of a lock or requirements file, and a commit. The clone of
// the repository is DIR/OWNER+NAME. Each commit is compared with its parent by `compat env --base`,
// with an empty cache. COMPAT needs a package index. The exit code is 1 if a commit could not be
// reviewed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

func main() {
	list := flag.String("commits", "internal/test/bumps/commits.txt", "file that lists the commits")
	repos := flag.String("repos", ".", "folder of the clones")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: bumps [-commits LIST] [-repos DIR] COMPAT")
		os.Exit(2)
	}
	failed, err := run(flag.Arg(0), *list, *repos)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bumps:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(compat, list, repos string) (failed int, err error) {
	compat, err = filepath.Abs(compat)
	if err != nil {
		return 0, err
	}
	f, err := os.Open(list)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	fmt.Println("| commit | changed packages with native code | outcome | new errors | MB | seconds |")
	fmt.Println("|---|---|---|---|---|---|")
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 3 || words[0] == "#" {
			continue
		}
		b := bump{repo: words[0], file: words[1], commit: words[2]}
		b.clone = filepath.Join(repos, strings.ReplaceAll(b.repo, "/", "+"))
		row, err := b.review(compat)
		if err != nil {
			return failed, fmt.Errorf("%s %s: %w", b.repo, b.commit, err)
		}
		if row.report.Outcome == analyzer.OutcomeError {
			failed++
		}
		var broken []string
		for _, f := range row.report.Findings {
			if f.New && f.Severity == analyzer.Error {
				broken = append(broken, strings.ReplaceAll(f.Message, "|", `\|`))
			}
		}
		fmt.Printf("| %s@%.9s | %s | %s | %s | %s | %.1f |\n", b.repo, b.commit,
			analyzer.List(row.changed, 4, len(row.changed), "change"), row.report.Outcome,
			analyzer.List(broken, 2, len(broken), "finding"), row.received, row.took.Seconds())
	}
	return failed, lines.Err()
}

// bump is a commit that changes a lock file.
type bump struct{ repo, file, commit, clone string }

// row is the result for a bump.
type row struct {
	changed  []string // packages with native code
	report   *analyzer.Report
	received string // MB
	took     time.Duration
}

var received = lazyregexp.New(`([0-9.]+) MB received`)

func (b bump) review(compat string) (*row, error) {
	dir, err := os.MkdirTemp("", "compat-bumps-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	flag := "--requirement"
	if filepath.Ext(b.file) != ".txt" {
		flag = "--lock"
	}
	var sides [2]map[string]string
	var paths [2]string
	for n, commit := range []string{b.commit + "^", b.commit} {
		text, err := exec.Command("git", "-C", b.clone, "show", commit+":"+b.file).Output()
		if err != nil {
			return nil, err
		}
		if sides[n], err = pins(b.file, text); err != nil {
			return nil, err
		}
		side := filepath.Join(dir, []string{"old", "new"}[n])
		if err := os.Mkdir(side, 0o700); err != nil {
			return nil, err
		}
		paths[n] = filepath.Join(side, path.Base(b.file))
		if err := os.WriteFile(paths[n], text, 0o600); err != nil {
			return nil, err
		}
	}
	c := exec.Command(compat, "env", "--base", paths[0], flag, paths[1], "--platform", "debian12",
		"--format", "json", "--verbose")
	c.Env = append(os.Environ(), "COMPAT_DATA="+filepath.Join(dir, "data"))
	var messages strings.Builder
	c.Stderr = &messages
	start := time.Now()
	out, failure := c.Output()
	r := &row{report: &analyzer.Report{}, took: time.Since(start)}
	if err := json.Unmarshal(out, r.report); err != nil {
		return nil, fmt.Errorf("%w: %s", failure, messages.String())
	}
	if m := received.FindStringSubmatch(messages.String()); m != nil {
		r.received = m[1]
	}
	for _, a := range r.report.Artifacts {
		if a.Wheel == nil || path.Ext(a.Path) != ".whl" || strings.HasSuffix(a.Path, "-any.whl") {
			continue
		}
		name := pkgmeta.Normalize(a.Wheel.Name)
		if was, now := sides[0][name], sides[1][name]; was != now {
			r.changed = append(r.changed, strings.TrimSpace(name+" "+was)+" to "+now)
		}
	}
	slices.Sort(r.changed)
	return r, nil
}

// pins returns the versions that a file pins.
func pins(file string, text []byte) (map[string]string, error) {
	l, err := lockfile.Read(file, text)
	if err != nil {
		return nil, err
	}
	chosen, err := l.Choose(lockfile.Choice{Python: "3.12", Arch: "x86_64"})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range chosen.Pins {
		name, version, _ := strings.Cut(p.Requirement, "==")
		out[pkgmeta.Normalize(name)] = version
	}
	return out, nil
}
