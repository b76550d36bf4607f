package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

const introduction = `# Accuracy

<!-- Written by make survey; do not edit. -->

How often is compat right? ` + "`make survey`" + ` draws published wheels and sets of packages by a
seed, half of them the newest release and half of any. It installs each in a fresh environment,
imports the packages, opens every shared object with ` + "`RTLD_NOW`" + ` in a process of its own,
asks auditwheel for the platform tag, and compares that with the answers of compat. If an error of
compat is about an object that this machine loads, qemu loads it on a processor with no more than
the baseline of x86-64. Wheels for musl, macOS and Windows are not installed but compared with
auditwheel, LLVM's otool and delvewheel; if only compat has an error, the release's wheel for this
system is imported.

- **false pass**: something does not load, or the tag is too old, and compat neither fails nor has a
  warning about it.
- **false alarm**: compat fails, and everything loads and has the right tag.
- **not checked**: compat could not check it, exit code 2.
- **not known**: compat fails, and the import fails for another reason, or of a wheel for another
  system the one for this system cannot be installed, which hides whether compat is right.
- **not run**: it could not be installed, or not all of it opened, in the time that the survey has
  for one wheel or lock file.

`

// counts are the numbers of rows by verdict.
type counts map[Verdict]int

// readResults reads files with results, and sorts them by seed.
func readResults(files []string) (all []*Results, err error) {
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var r Results
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, &r)
	}
	slices.SortFunc(all, func(a, b *Results) int { return cmp.Compare(a.Seed, b.Seed) })
	return all, nil
}

// writePage writes a page about files with results.
func writePage(file string, results []string) error {
	all, err := readResults(results)
	if err != nil {
		return err
	}
	var text, rest strings.Builder
	text.WriteString(introduction)
	sums := map[string]counts{}
	for _, r := range all {
		objects := 0
		for _, row := range r.Rows {
			key := row.System + " | `" + row.Mode + "`"
			if sums[key] == nil {
				sums[key] = counts{}
			}
			sums[key][row.Verdict]++
			if row.Mode != "check --requirement" {
				objects += row.Objects // which the wheel has in both modes
			}
			if row.Verdict != Agree {
				why := " " + note(row.What)
				if row.Verdict == NotRun {
					why = "" // the text says it
				}
				fmt.Fprintf(&rest, "\n### %s: %s, %s, `%s`\n\nSeed %d.%s\n\n%s\n%s", row.Verdict,
					row.What, row.System, row.Mode, r.Seed, why, quoted("installed", row.Truth),
					quoted("compat", row.Compat))
			}
		}
		limits := ""
		if r.Budget > 0 {
			limits = fmt.Sprintf(" BUDGET=%d", r.Budget)
		}
		if r.Locks > 0 {
			limits += fmt.Sprintf(" LOCKS=%d", r.Locks)
		}
		fmt.Fprintf(&text, "- `make survey SEED=%d%s` of %s on %s:\n  %d comparisons, "+
			"%d objects opened, %d MB downloaded\n",
			r.Seed, limits, r.Date, r.System, len(r.Rows), objects, r.MB)
	}
	text.WriteString("\n| system | command | agreements | false passes | false alarms | not checked | " +
		"not known | not run |\n|---|---|---|---|---|---|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		c := sums[key]
		fmt.Fprintf(&text, "| %s | %d | %d | %d | %d | %d | %d |\n", key, c[Agree], c[FalsePass],
			c[FalseAlarm], c[Unchecked], c[Unknown], c[NotRun])
	}
	text.WriteString("\n## Disagreements\n")
	if rest.Len() == 0 {
		text.WriteString("\nNone.\n")
	}
	return os.WriteFile(file, []byte(text.String()+rest.String()), 0o644)
}

const unexplained = "Not explained yet."

//go:embed notes.txt
var notes string

// note returns the explanation of a disagreement about a release, in lines.
func note(what string) string {
	const goesOn = "\n  "
	for line := range strings.Lines(strings.ReplaceAll(notes, goesOn, "\x00")) {
		release, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if release != "#" && strings.HasPrefix(what, release+" ") {
			return strings.ReplaceAll(text, "\x00", "\n")
		}
	}
	return unexplained
}

// maxQuoted limits the lines of a text on the page.
const maxQuoted = 6

// folder matches the temporary folder of an environment or a wheel in a text, which no result has.
var folder = regexp.MustCompile(`(^|\s)/[^\s:]*/(?:site-packages|wheel)/`)

// quoted returns a text as a block, cut to some lines.
func quoted(title, text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > maxQuoted {
		lines = append(lines[:maxQuoted], fmt.Sprintf("… %d more lines", len(lines)-maxQuoted))
	}
	for i, l := range lines {
		if len(l) > 200 {
			lines[i] = strings.ToValidUTF8(l[:200], "") + "…"
		}
		lines[i] = "    " + lines[i]
	}
	return title + ":\n\n" + strings.Join(lines, "\n") + "\n"
}
