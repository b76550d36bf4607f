// Package history checks the commits of this repository for lost work.
//
// A commit made on an outdated copy of the tree silently undoes what others have committed: some
// of its files return to earlier content. TestLostWork reports such commits, unless the subject
// says that it is a revert or goes back to an earlier state.
//
// A full clone is checked completely, a shallow one as far as it goes; the log of the test says
// which. A merge is compared with its first parent.
package history

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repaired are commits in which files returned to earlier content, with an explanation.
var repaired = map[string]string{
	"31d05ea": "undid relocations and notes of elfobj; repaired by 69172f6",
	"69172f6": "is itself that repair",
	"064a54a": "took back a lease of a minute that its own longer default made unnecessary",
	"84ebd43": "undid three optimisations; repaired by 6defe8f",
}

// loss is a commit in which files returned to earlier content.
type loss struct {
	commit  string // abbreviated to seven digits
	subject string
	files   []string
}

func TestLostWork(t *testing.T) {
	root := git(t, ".", "rev-parse", "--show-toplevel")
	kind := "full"
	if git(t, root, "rev-parse", "--is-shallow-repository") == "true" {
		kind = "shallow"
	}
	t.Logf("a %s clone of %s commits", kind, git(t, root, "rev-list", "--count", "HEAD"))
	for _, l := range losses(t, root) {
		if _, ok := repaired[l.commit]; ok {
			continue
		}
		t.Errorf("%s (%s) returns files to earlier bytes: %s\n"+
			"Apply the change again on the current main; if the return is meant, say \"revert\" or \"back "+
			"to\" in the subject.",
			l.commit, l.subject, strings.Join(l.files, ", "))
	}
}

func TestLostWorkIsFound(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	commit := func(subject string, files map[string]string) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", subject)
	}
	commit("all: first", map[string]string{"a": "1", "b": "1"})
	commit("a: faster", map[string]string{"a": "2"})
	commit("b: a change made on an old copy", map[string]string{"a": "1", "b": "2"})
	commit("a: faster again", map[string]string{"a": "3"})
	commit("a: revert the last change", map[string]string{"a": "1"})
	git(t, dir, "rm", "-q", "b")
	git(t, dir, "commit", "-q", "-m", "b: remove")
	commit("a: a change made before b was removed", map[string]string{"a": "4", "b": "2"})

	got := losses(t, dir)
	if len(got) != 2 {
		t.Fatalf("found %+v, want the third and the last commit", got)
	}
	for i, want := range []loss{
		{subject: "b: a change made on an old copy", files: []string{"a"}},
		{subject: "a: a change made before b was removed", files: []string{"b"}},
	} {
		if got[i].subject != want.subject || !slices.Equal(got[i].files, want.files) {
			t.Errorf("found %+v, want %+v", got[i], want)
		}
	}
}

// meant reports whether the subject of a commit says that files return to earlier content.
func meant(subject string) bool {
	subject = strings.ToLower(subject)
	return strings.Contains(subject, "revert") || strings.Contains(subject, "back to")
}

// losses returns the commits of HEAD that lost work, oldest first.
func losses(t *testing.T, dir string) []loss {
	t.Helper()
	out := git(t, dir, "log", "--first-parent", "--diff-merges=first-parent", "--reverse", "--root",
		"--raw", "--no-abbrev", "--no-renames", "--format=commit %H %s")
	var found []loss
	var current loss
	earlier := map[string]bool{} // "path\x00blob" of each version so far
	flush := func() {
		if len(current.files) > 0 && !meant(current.subject) {
			found = append(found, current)
		}
	}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "commit "); ok {
			flush()
			hash, subject, _ := strings.Cut(rest, " ")
			current = loss{commit: hash[:7], subject: subject}
			continue
		}
		// :100644 100644 OLD NEW M<tab>PATH
		meta, path, ok := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 5 {
			continue
		}
		before, after, status := fields[2], fields[3], fields[4]
		version := path + "\x00" + after
		// A change of the mode alone has the same content before and after.
		if status != "D" && before != after && earlier[version] {
			current.files = append(current.files, path)
		}
		earlier[version] = true
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	flush()
	return found
}

// git runs git in dir, without the settings of this machine, and returns its output.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "safe.directory=*",
		"-c", "commit.gpgsign=false", "-c", "log.showSignature=false",
	}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("git %s: %w: %s", args[0], err, stderr.String()))
	}
	return strings.TrimSpace(string(out))
}
