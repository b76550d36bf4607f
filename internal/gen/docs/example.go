package docgen

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
)

// Lines of a want file of analyzer/rules/testdata.
var (
	wantFinding = regexp.MustCompile(`^(error|warning|note) (\S+) `)
	wantFix     = regexp.MustCompile(`^  fix \S+ (verified|untried)[^:]*: (.*)$`)
)

// found is a finding of a test case with its first fix.
type found struct {
	file, severity, message string
	fix, command            string // "" = none
	cost                    string
	tried                   bool
	size                    int // of the test case
}

// example returns the section of a rule's page that shows a finding before, and its fix after. It
// is of the smallest test case with a fix that was tried, or else of the smallest with a fix or a
// finding, for Linux if there is one. "" = there is no test case with a finding.
func example(id, testdata string) (string, error) {
	files, err := filepath.Glob(filepath.Join(testdata, id, "*.txtar"))
	if err != nil {
		return "", err
	}
	var best *found
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			return "", err
		}
		size := 0
		for _, f := range a.Files {
			size += len(f.Data)
		}
		for _, f := range a.Files {
			if f.Name != "want" {
				continue
			}
			for _, x := range wanted(id, string(f.Data)) {
				x.file, x.size = filepath.Base(file), size
				if best == nil || x.better(best) {
					best = x
				}
			}
		}
	}
	if best == nil {
		return "", nil
	}
	text := fmt.Sprintf("## Before and after\n\nThe %s of "+
		"[a test case](../../analyzer/rules/testdata/%s/%s):\n\n    %s\n\n", best.severity, id, best.file, best.message)
	if best.fix == "" {
		return text + "No edit of a finished file fixes it.\n\n", nil
	}
	state := "The finding is gone after this fix, which compat tried"
	if !best.tried {
		state = "The fix, which compat does not try"
	}
	text += fmt.Sprintf("%s: %s\n\n", state, best.fix)
	if best.command != "" {
		text += "    " + best.command + "\n\n"
	}
	if best.cost != "" {
		text += "It costs: " + best.cost + "\n\n"
	}
	return text, nil
}

func (x *found) better(y *found) bool {
	switch {
	case x.tried != y.tried:
		return x.tried
	case (x.fix != "") != (y.fix != ""):
		return x.fix != ""
	}
	if x.other() != y.other() {
		return y.other()
	}
	return x.size < y.size
}

// other reports whether the test case is not about Linux.
func (x *found) other() bool {
	return strings.HasPrefix(x.file, "macos") || strings.HasPrefix(x.file, "windows")
}

// wanted returns the findings of a rule in a want file.
func wanted(id, want string) (out []*found) {
	var last *found
	for line := range strings.Lines(want) {
		line = strings.TrimSuffix(line, "\n")
		if m := wantFinding.FindStringSubmatch(line); m != nil {
			last = nil
			if m[2] == id {
				last = &found{severity: m[1]}
				out = append(out, last)
			}
			continue
		}
		if last == nil || !strings.HasPrefix(line, "  ") {
			continue
		}
		if m := wantFix.FindStringSubmatch(line); m != nil {
			if tried := m[1] == "verified"; last.fix == "" || tried && !last.tried {
				last.tried = tried
				last.fix, last.command, _ = strings.Cut(m[2], " | ")
				last.command, last.cost, _ = strings.Cut(last.command, " | ")
			}
		} else if last.message == "" {
			last.message = strings.TrimSpace(line)
		}
	}
	return out
}
