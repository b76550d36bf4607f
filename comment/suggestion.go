package comment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// edit is a change of one line of a source file.
type edit struct {
	place
	old, new string
	causes   []int // new causes of the line
	by       int   // the first cause with a fix that edits it
	fix      analyzer.CauseFix
	changes  map[int][]causetext.Edit // those of the fixes of each cause that edit it
}

// edits returns the changes of the lines that cause new findings and that a fix can edit.
func edits(in Input, v view, s *sources) (out []edit) {
	byPlace := map[place][]int{}
	var order []place
	for _, g := range v.fresh {
		f := v.finding(g)
		p, line, ok := s.anchor(f)
		if len(f.Against) > 0 {
			p, line, ok = abiEdit(f, in)
		}
		if !ok {
			continue
		}
		at := place{p, line}
		if byPlace[at] == nil {
			order = append(order, at)
		}
		byPlace[at] = append(byPlace[at], g)
	}
	for _, at := range order {
		old := strings.TrimSuffix(lines(in.Files[at.path])[at.line-1], "\r")
		if x, ok := edited(v, at, old, byPlace[at]); ok {
			out = append(out, x)
		}
	}
	return out
}

// editsOf returns the changes of a line that make fixes of each new cause, by the index of the
// cause, as far as there are any.
func editsOf(all []edit) map[int][]causetext.Edit {
	out := map[int][]causetext.Edit{}
	for _, e := range all {
		maps.Copy(out, e.changes) // a cause has one line
	}
	return out
}

// dropped returns the upper limits of versions that a line no longer has after the change for a
// requirement.
func dropped(at place, old, line, requirement string) (limits []string) {
	want, ok := parseRequirement(requirement)
	if !ok {
		return nil
	}
	kind := kindOf(at.path)
	before, _ := findRequirement(code(old), want.name, kind)
	after, _ := findRequirement(code(line), want.name, kind)
	clauses := func(spec string) []string {
		return strings.FieldsFunc(spec, func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, c := range clauses(before.spec) {
		if strings.HasPrefix(c, "<") && !slices.Contains(clauses(after.spec), c) {
			limits = append(limits, c)
		}
	}
	return limits
}

// edited returns the changes of a line by the fixes of some causes, and as its own that of the
// first one. ok is false if there is none.
func edited(v view, at place, old string, causes []int) (e edit, ok bool) {
	if len(old) > maxLine || mdsafe.Lines(old) != old {
		return edit{}, false
	}
	e = edit{place: at, old: old, causes: causes, changes: map[int][]causetext.Edit{}}
	for _, i := range causes {
		for n, x := range v.cause(i).Fixes {
			line, edits := editOf(v, i, at.path, old, x.Fix)
			if !edits {
				continue
			}
			if !ok {
				e.new, e.by, e.fix, ok = line, i, x, true
			}
			e.changes[i] = append(e.changes[i], causetext.Edit{Fix: n, At: at.String(), Old: old,
				New: line, Dropped: dropped(at, old, line, x.Requirement)})
		}
	}
	return e, ok
}

// review returns the suggestions: one for each edit of a line of the diff.
func review(in Input, v view, all []edit) (out []ReviewComment) {
	for _, e := range all {
		if !in.Diff.Has(e.path, e.line) || len(out) == maxReview {
			continue
		}
		if c := suggestion(v, e); len(c.Body) <= maxBody {
			out = append(out, c)
		}
	}
	return out
}

// suggestion returns the comment on an edited line.
func suggestion(v view, e edit) ReviewComment {
	sum := sha256.Sum256([]byte(e.path + "\x00" + strings.TrimSpace(e.new)))
	r := ReviewComment{Path: e.path, Line: e.line, Fingerprint: hex.EncodeToString(sum[:12])}
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- compat:thread %s -->\n", r.Fingerprint)
	for n, j := range e.causes {
		if n == 3 {
			fmt.Fprintf(&b, "and %s.\n\n", analyzer.Count(len(e.causes)-n, "more cause"))
			break
		}
		of := v.cause(j)
		fmt.Fprintf(&b, "**%s** %s.\n\n", of.Severity,
			mdsafe.Prose(of.Title, causetext.Names(v.report, of)...))
	}
	c, x := v.cause(e.by), e.fix
	known := append(causetext.Names(v.report, c), x.Requirement)
	fmt.Fprintf(&b, "%s (%s).", mdsafe.Prose(x.Title.Without(fix.InSources).String(), known...),
		causetext.EditState(c, x))
	if len(x.Cost) > 0 {
		fmt.Fprintf(&b, " Costs: %s.", mdsafe.Prose(
			strings.TrimSuffix(strings.Join(x.Cost[:min(len(x.Cost), 3)], "; "), "."),
			known...))
	}
	b.WriteString("\n\n" + mdsafe.Fence("suggestion", e.new))
	r.Body = b.String()
	return r
}

// editOf is Edit for a fix of a cause, given by its index, also for the flags that link its object.
func editOf(v view, i int, path, line string, x fix.Fix) (edited string, ok bool) {
	if edited, ok = Edit(path, line, x); ok || x.Kind != fix.KindLinkFlag {
		return edited, ok
	}
	text := code(line)
	if edited, ok = addFlags(text, v.finding(i).Object, string(x.Command)); !ok {
		return "", false
	}
	if comment := line[len(text):]; comment != "" {
		return edited + comment, !strings.Contains(edited, "\n") // it would be behind what was added
	}
	return edited, true
}

// Edit applies a fix to one line of a source file. It keeps quotes, commas, indentation, extras,
// environment marker and comment. ok is false if the fix does not apply to the line or is applied
// already.
func Edit(path, line string, x fix.Fix) (edited string, ok bool) {
	text := code(line)
	comment := line[len(text):]
	switch x.Kind {
	case fix.KindPin, fix.KindDependency:
		text, ok = raise(text, x.Requirement, kindOf(path))
	case fix.KindImage, fix.KindPlatformTag:
		if text, ok = retag(text, x); !ok && x.Kind == fix.KindImage {
			text, ok = inImage(path, code(line), string(x.Command))
		}
	case fix.KindLinkFlag:
		text, ok = bump(text, string(x.Command))
	case fix.KindSource: // these files have another comment syntax
		comment = ""
		text, ok = export(path, line, x)
	}
	return text + comment, ok && text+comment != line
}

// clauseRE matches one version specifier: white space, operator and version.
var clauseRE = lazyregexp.New(`^(\s*)(===?|~=|!=|<=|>=|<|>)(\s*)([A-Za-z0-9._*+!-]+)$`)

// raise replaces the version specifier of a package in the line by that of the fix.
func raise(text, requirement string, kind fileKind) (string, bool) {
	want, ok := parseRequirement(requirement)
	if !ok || want.spec == "" {
		return "", false
	}
	have, ok := findRequirement(text, want.name, kind)
	if !ok || have.url || have.hash {
		return "", false
	}
	return text[:have.specAt] + merge(
		text[have.specAt:have.specEnd],
		want.spec,
	) + text[have.specEnd:], true
}

// merge raises the lower bound of a specifier and keeps its other clauses, as long as they allow
// the new bound. If the fix is not a single lower bound, or the specifier has another notation
// (Poetry's caret), the specifier is replaced.
func merge(old, fixed string) string {
	lower := clauseRE.FindStringSubmatch(fixed)
	if lower == nil || lower[2] != ">=" {
		return fixed
	}
	bound, err := pkgmeta.ParseVersion(lower[4])
	if err != nil {
		return fixed
	}
	var out []string
	raised := false
	for c := range strings.SplitSeq(old, ",") {
		m := clauseRE.FindStringSubmatch(c)
		if m == nil {
			return fixed
		}
		switch op, version := m[2], m[4]; {
		case op == "<" || op == "<=" || op == "!=":
			v, err := pkgmeta.ParseVersion(strings.TrimSuffix(version, ".*"))
			if err == nil && (v.Compare(bound) > 0 || op != "<" && v.Compare(bound) == 0) {
				out = append(out, c)
			}
		case !raised:
			raised = true
			out = append(out, m[1]+">="+m[3]+lower[4])
		}
	}
	if !raised {
		out = slices.Insert(out, 0, fixed)
	}
	return strings.Join(out, ",")
}

var (
	wholeTag = lazyregexp.New(`(?:many|musl)linux(?:_\d+_\d+|1|2010|2014)`)
	// pulled are the image names that cibuildwheel or a container line can use for all
	// architectures: the images that pypa/manylinux builds today. Others exist for single
	// architectures only.
	pulled = []string{"manylinux2014", "manylinux_2_28", "manylinux_2_34", "musllinux_1_2"}
	imaged = lazyregexp.New(
		`CIBW_(?:MANYLINUX|MUSLLINUX)|linux-\w+-image\b|quay\.io/pypa/|^\s*(?:-\s*)?(?:container|image)\s*:|^\s*FROM\s`,
	)
	tagged = lazyregexp.New(`AUDITWHEEL_PLAT|--plat\b|plat[-_]name`)
)

// wheelBuild matches a step of a workflow that builds the wheel of the repository on the machine
// itself and writes it to dist, with what precedes the command, the builder, and its arguments.
var wheelBuild = lazyregexp.New(`^(\s*(?:-\s+)?run:\s*)(?:python3?\s+)?(setup\.py bdist_wheel|` +
	`(?:-m )?pip wheel|(?:-m|pipx run|uv) build)((?:\s+(?:\.|--wheel|--no-deps|--no-isolation|-n|` +
	`--plat-name[ =][\w.]+|(?:--outdir|-o|-w|--wheel-dir|--dist-dir|-d)[ =]dist/?|-w))*)\s*$`)

// inImage replaces a step of a workflow that builds a wheel, and nothing else, by one that builds
// it in an image, with cibuildwheel, for which the command is a variable.
func inImage(path, text, variable string) (string, bool) {
	m := wheelBuild.FindStringSubmatch(text)
	if m == nil || kindOf(path) != workflowYML || !strings.HasPrefix(variable, "CIBW_") {
		return "", false
	}
	with := strings.Fields(m[3])
	switch builder := m[2]; {
	case strings.HasSuffix(builder, "pip wheel") && !slices.Contains(with, "."),
		strings.HasSuffix(builder, " build") && // without the option, the source distribution too
			!slices.Contains(with, "--wheel") && !slices.Contains(with, "-w"):
		return "", false
	}
	return m[1] + variable + " pipx run cibuildwheel --output-dir dist", true
}

// retag replaces the platform in the line by that of the fix, and keeps an architecture after it.
func retag(text string, x fix.Fix) (string, bool) {
	tag := wholeTag.FindString(string(x.Command))
	if x.Kind == fix.KindPlatformTag { // the command also names the wheel, with its tag
		tag = wholeTag.FindString(fix.PlatformTag(x.Command))
	}
	at := wholeTag.FindAllStringIndex(text, -1)
	if tag == "" || len(at) == 0 {
		return "", false
	}
	isImage := imaged.MatchString(text)
	switch {
	case isImage && !slices.Contains(pulled, tag),
		!isImage && (x.Kind == fix.KindImage || !tagged.MatchString(text)):
		return "", false
	}
	if strings.Contains(text, "@sha256:") { // the digest is that of the old image
		return "", false
	}
	first := text[at[0][0]:at[0][1]]
	for _, a := range at { // it is not known which of several platforms is meant
		if text[a[0]:a[1]] != first {
			return "", false
		}
	}
	if first[:4] != tag[:4] || sameTag(first, tag) {
		return "", false
	}
	return strings.ReplaceAll(text, first, tag), true
}
