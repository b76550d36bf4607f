package comment

import (
	"maps"
	"slices"
	"strings"

	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/compat-app/compat/internal/mdsafe"
)

// maxPatch limits a patch in bytes: it is stored with the verdict, and fits into a comment.
const maxPatch = 16 << 10

// patch returns the unified diff of edits of files; "" if there are none.
func patch(files map[string]string, all []edit) string {
	changed := map[string][]byte{}
	byFile := map[string][]edit{}
	for _, e := range all {
		byFile[e.path] = append(byFile[e.path], e)
	}
	for name, list := range byFile {
		text := lines(files[name])
		for _, e := range list {
			text[e.line-1] = strings.Replace(text[e.line-1], e.old, e.new, 1)
		}
		changed[name] = []byte(strings.Join(text, "\n"))
		if strings.HasSuffix(files[name], "\n") {
			changed[name] = append(changed[name], '\n')
		}
	}
	return Patch(changed, func(name string) []byte { return []byte(files[name]) })
}

// Patch returns the unified diff of changed files, sorted by name; old returns what they were. Left
// out are files whose name or text does not survive being copied from a comment, such as one with
// carriage returns, and files above the limit of a patch.
func Patch(changed map[string][]byte, old func(name string) []byte) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		d := unified.Diff("a/"+name, old(name), "b/"+name, changed[name])
		_, hunks, _ := strings.Cut(string(d), "\n") // without "diff a/… b/…", which git does not read
		copied := mdsafe.Lines(hunks) == hunks && !strings.ContainsAny(name, " \t\"\\")
		if copied && b.Len()+len(hunks) <= maxPatch {
			b.WriteString(hunks)
		}
	}
	return b.String()
}
