package comment

import (
	"strings"
	"testing"
)

func TestPatch(t *testing.T) {
	const old = "# pins\na==1\nb==2\nc==3\nd==4\ne==5\n"
	files := map[string]string{
		"requirements.txt": old, "sub/no-end.txt": "a==1", "crlf.txt": "a==1\r\nb==2\r\n",
		"bidi.txt": "a==1\n# \u202e\n", "two words.txt": "a==1\n", "large.txt": strings.Repeat("x", maxPatch) + "\na==1\n",
	}
	var all []edit
	for name, text := range files {
		for n, line := range strings.Split(text, "\n") {
			if line := strings.TrimSuffix(line, "\r"); line == "a==1" {
				all = append(all, edit{place: place{name, n + 1}, old: line, new: "a==1.5"})
			}
		}
	}
	want := `--- a/requirements.txt
+++ b/requirements.txt
@@ -1,5 +1,5 @@
 # pins
-a==1
+a==1.5
 b==2
 c==3
 d==4
--- a/sub/no-end.txt
+++ b/sub/no-end.txt
@@ -1,1 +1,1 @@
-a==1
\ No newline at end of file
+a==1.5
\ No newline at end of file
`
	if got := patch(files, all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := patch(files, nil); got != "" {
		t.Error("without edits:", got)
	}
}

func TestFixes(t *testing.T) {
	r := caseA()
	r.Plan.Command = "compat fix --write fixed warp.whl"
	text := Fixes(r, "0123456789abcdef", "--- a/x\n+++ b/x\n", url)
	for _, want := range []string{"`0123456789ab`", "1. **error** needs `GLIBC_2.29`",
		"```\ncompat fix --write fixed warp.whl\n```", "```diff\n--- a/x\n+++ b/x\n```", url} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	r.Causes[0].Fixes[0].Command = r.Plan.Command
	if text := Fixes(r, "abc", "", ""); strings.Count(text, string(r.Plan.Command)) != 1 {
		t.Error("the command is not there once:", text)
	}
	if text := Fixes(of(), "abc", "", ""); !strings.Contains(text, "has nothing new to fix") {
		t.Error(text)
	}
}
