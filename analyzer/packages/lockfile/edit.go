package lockfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Edit is a change of one package in a file.
type Edit struct {
	// Requirement is NAME==VERSION, or for a package that is added any requirement with a name.
	Requirement string
	// Old is the version that the file leads to; "" = the package is added.
	Old string
	// Limit means that requirements which admit the version get it as upper bound, because an
	// installer would choose another one.
	Limit bool
	// Files are those of the version, for formats with hashes; nil = they are not known.
	Files []File
	// On is the system for which the version was chosen. Requirements for others are only changed if
	// they pin Old, as a file that has several lines for one version.
	On pkgmeta.MarkerEnv
}

// Errors of Apply.
var (
	// ErrTool means that only the tool of the format can write the file: the versions of other
	// packages depend on the changed one.
	ErrTool = errors.New("only its tool can change it")
	// ErrByHand means that the requirement has to be changed by hand, such as one with a URL.
	ErrByHand = errors.New("change it by hand")
)

// Edits reports whether Apply can change a file with this name.
func Edits(file string) bool { return formatOf(file, nil).edit != nil }

// Apply returns a file with a change. All other bytes stay the same: comments, spaces, the order,
// and the ends of lines. It returns data if the file has no requirement that has to change.
func Apply(file string, data []byte, e Edit) ([]byte, error) {
	f := formatOf(file, data)
	if f.edit == nil {
		return nil, ErrTool
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("it has more than %d MiB", maxSize>>20)
	}
	c := &edition{Edit: e}
	q, err := pkgmeta.ParseRequirement(e.Requirement)
	if err != nil {
		return nil, err
	}
	c.to = q
	v, exact := q.Pin()
	if c.version = v; e.Old != "" && !exact {
		return nil, fmt.Errorf("%s: %w", e.Requirement, ErrByHand)
	}
	return f.edit(data, c)
}

// edition is an Edit that was parsed.
type edition struct {
	Edit
	to      pkgmeta.Requirement
	version pkgmeta.Version // of to; its zero value if to is none that pins a version
}

// applies reports whether a requirement is for the system of the edit.
func (e *edition) applies(q pkgmeta.Requirement) bool {
	ok, err := q.Applies(e.On)
	return ok && err == nil
}

// requirement returns a requirement as it is written with the change. raw begins with the name, and
// may go on after the requirement. q is its parsed form.
func (e *edition) requirement(raw string, q pkgmeta.Requirement) (string, error) {
	at := len(requirementName.FindString(raw))
	if next := blanks(raw, at); next < len(raw) && raw[next] == '[' {
		at = next + strings.IndexByte(raw[next:], ']') + 1
	}
	start := blanks(raw, at)
	if start < len(raw) && raw[start] == '@' || q.URL != "" {
		return "", fmt.Errorf("%s has a URL; %w", q.Name, ErrByHand)
	}
	if start < len(raw) && raw[start] == '(' {
		start++
	}
	end := start + specLength(raw[start:])
	written := raw[start:end]
	spec := e.spec(written, q)
	if written == "" && raw[start-1] != '(' { // no blank before the version
		start, end = at, at
	}
	return raw[:start] + spec + raw[end:], nil
}

// blanks returns the place of the first byte from at that is neither a blank nor a continued line.
func blanks(raw string, at int) int {
	for at < len(raw) {
		switch rest := raw[at:]; {
		case rest[0] == ' ' || rest[0] == '\t':
			at++
		case strings.HasPrefix(rest, "\\\n"):
			at += 2
		case strings.HasPrefix(rest, "\\\r\n"):
			at += 3
		default:
			return at
		}
	}
	return at
}

// specLength returns the length of the specifier at the beginning of raw, which comes after a name,
// without blanks at its end.
func specLength(raw string) int {
	end, spaced := 0, true
	for i := 0; i < len(raw); {
		if next := blanks(raw, i); next > i {
			i, spaced = next, true
			continue
		}
		comment := strings.HasPrefix(raw[i:], "#") || strings.HasPrefix(raw[i:], "--")
		if spaced && comment || strings.IndexByte(";)\"'\r\n", raw[i]) >= 0 {
			break
		}
		i++
		end, spaced = i, false
	}
	return end
}

// spec returns the specifier of a requirement with the change, or as it is.
func (e *edition) spec(written string, q pkgmeta.Requirement) string {
	to := e.version.String()
	if v, exact := q.Pin(); exact {
		if v.String() != e.Old && !e.applies(q) {
			return written
		}
		at := blanks(written, len(written)-len(strings.TrimLeft(written, "=")))
		old, after := written[at:], ""
		if end := strings.IndexAny(old, " ,\t\\"); end >= 0 {
			after = old[end:]
		}
		return written[:at] + to + after
	}
	if !e.applies(q) || q.Admits(e.version) && !e.Limit {
		return written
	}
	operator := "<="
	if e.version.Local() != "" || e.version.IsPreRelease() { // bounds do not lead to these
		operator = "=="
	}
	if strings.Contains(written, " ") && !strings.Contains(written, ", ") {
		operator += " "
	}
	var kept []string
	limited := false
	for clause := range strings.SplitSeq(written, ",") {
		trimmed := strings.TrimSpace(strings.Trim(clause, "\\\r\n\t "))
		one, err := pkgmeta.ParseSpec(trimmed)
		upper := strings.HasPrefix(trimmed, "<")
		switch {
		case trimmed == "":
		case err == nil && one.Admits(e.version) && !upper && operator[0] == '<':
			kept = append(kept, trimmed)
		case !limited:
			limited = true
			kept = append(kept, operator+to)
		}
	}
	if !limited {
		kept = append(kept, operator+to)
	}
	if strings.Contains(written, ", ") {
		return strings.Join(kept, ", ")
	}
	return strings.Join(kept, ",")
}

// hashes returns the hashes of the new version, as they are in a lock file, sorted.
func (e *edition) hashes() ([]string, error) {
	var out []string
	for _, f := range e.Files {
		if f.SHA256 != "" {
			out = append(out, "sha256:"+f.SHA256)
		}
	}
	if len(out) == 0 || len(out) < len(e.Files) {
		return nil, fmt.Errorf("the package index has no hashes of %s", e.Requirement)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
