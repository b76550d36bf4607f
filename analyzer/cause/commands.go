package cause

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

const maxCommands = 12 // lines of a command for several findings

// command is a command of a fix, for an artifact.
type command struct {
	artifact string
	line     shellword.Line
}

// command returns one command for all findings. A wheel that is extracted, edited and packed has a
// line of its own, because the folder has the same name for all wheels of a project. For wheels in
// several folders, commands with their names enter the folder.
func (m *merged) command() shellword.Line {
	var all []shellword.Line
	var artifacts, folders set[string]
	lines := map[string][]shellword.Line{}
	packs, named := false, false
	for _, c := range m.commands.list {
		if !slices.Contains(all, c.line) {
			all = append(all, c.line)
		}
		artifacts.add(c.artifact)
		folders.add(path.Dir(c.artifact))
		lines[c.artifact] = append(lines[c.artifact], c.line)
		packs = packs || strings.Contains(string(c.line), string(fix.PackWheel))
		named = named || namesFile(c)
	}
	apart := named && len(folders.list) > 1
	if !packs && !apart {
		return join(all)
	}
	var out set[shellword.Line]
	for _, a := range artifacts.list {
		line := join(lines[a])
		if apart && namesFile(command{a, line}) {
			dir, _ := fix.Place(a)
			for _, one := range shellword.Lines(line) {
				out.add(fix.Enter(dir, one))
			}
			continue
		}
		out.add(line)
	}
	return shellword.Join(out.list, "\n")
}

// namesFile reports whether a command contains the file name of its artifact.
func namesFile(c command) bool {
	file := shellword.Quote(shellword.File(path.Base(c.artifact)))
	return strings.Contains(string(c.line), string(file))
}

// join merges the commands of several findings. Common first and last steps, such as unpacking the
// wheel, are done once. patchelf commands that differ only in the file become one command; others
// are separate lines.
func join(commands []shellword.Line) shellword.Line {
	if len(commands) == 1 {
		return commands[0]
	}
	if flags := mergeFlags(commands); flags != "" {
		return flags
	}
	steps := make([][]shellword.Line, len(commands))
	for i, c := range commands {
		steps[i] = shellword.Steps(c)
	}
	first, last := steps[0], slices.Clone(steps[0])
	slices.Reverse(last)
	head, tail := len(first), len(first)
	for _, s := range steps[1:] {
		reversed := slices.Clone(s)
		slices.Reverse(reversed)
		head = min(head, common(first, s))
		tail = min(tail, common(last, reversed))
	}
	var middle []shellword.Line
	for _, s := range steps {
		if head+tail < len(s) {
			middle = append(middle, s[head:len(s)-tail]...)
		}
	}
	lines := mergeFiles(middle)
	if head+tail == 0 {
		return shellword.Join(lines[:min(len(lines), maxCommands)], "\n")
	}
	return shellword.Join(slices.Concat(first[:head], lines, first[len(first)-tail:]), " && ")
}

// mergeFlags joins settings of LDFLAGS, of which only the last one would count. It is "" if there
// are other commands.
func mergeFlags(commands []shellword.Line) shellword.Line {
	const before, after shellword.Line = `LDFLAGS="`, `"`
	var flags set[shellword.Line]
	for _, c := range commands {
		s := string(c)
		if !strings.HasPrefix(s, string(before)) || !strings.HasSuffix(s, string(after)) ||
			strings.Contains(s, "\n") || strings.Contains(s, "LDLIBS=") {
			return ""
		}
		flags.add(c[len(before) : len(c)-len(after)])
	}
	return before + shellword.Join(flags.list, " ") + after
}

// common is the number of elements that two lists begin with.
func common(a, b []shellword.Line) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// mergeFiles joins patchelf commands that differ in the file alone.
func mergeFiles(commands []shellword.Line) []shellword.Line {
	var prefixes set[shellword.Line]
	files := map[shellword.Line][]shellword.Line{}
	for _, c := range commands {
		i := len(c)
		if strings.HasPrefix(string(c), "patchelf ") {
			words := shellword.Words(c)
			i = len(c) - len(words[len(words)-1]) - 1
		}
		prefixes.add(c[:i])
		for _, word := range shellword.Words(c[i:]) {
			if !slices.Contains(files[c[:i]], word) {
				files[c[:i]] = append(files[c[:i]], word)
			}
		}
	}
	var lines []shellword.Line
	for _, p := range prefixes.list {
		lines = append(lines, shellword.Join(append([]shellword.Line{p}, files[p]...), " "))
	}
	return lines
}
