package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// editRequirements changes a requirements or constraints file.
func editRequirements(data []byte, e *edition) ([]byte, error) {
	text := string(data)
	var out strings.Builder
	found := false
	for line := range continued(text) {
		end := strings.TrimRight(line, "\r\n")
		l, err := one(end)
		if err != nil {
			return nil, err
		}
		if l == nil || l.requirement.Name != e.to.Name || e.Old == "" {
			found = found || l != nil && l.requirement.Name == e.to.Name && e.applies(l.requirement)
			out.WriteString(line)
			continue
		}
		changed, err := e.line(end, l)
		if err != nil {
			return nil, err
		}
		out.WriteString(changed + line[len(end):])
	}
	if e.Old == "" && !found {
		return e.add(out.String())
	}
	return []byte(out.String()), nil
}

// continued yields the lines of a text with their ends. Lines that are continued count as one.
func continued(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for at := 0; at < len(text); at++ {
			if text[at] != '\n' {
				continue
			}
			if strings.HasSuffix(strings.TrimSuffix(text[start:at], "\r"), "\\") {
				continue
			}
			if !yield(text[start : at+1]) {
				return
			}
			start = at + 1
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// one parses a line of a requirements file; nil if it has no requirement.
func one(line string) (*requirementsLine, error) {
	lines, err := requirementsLines(line)
	if err != nil || len(lines) != 1 || lines[0].requirement.Name == "" {
		var at *LineError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, err
	}
	return lines[0], nil
}

// line returns a line with the change.
func (e *edition) line(line string, l *requirementsLine) (string, error) {
	if l.indexes != nil || l.local != "" { // the version is in a URL
		return "", fmt.Errorf("%s has a URL; %w", e.to.Name, ErrByHand)
	}
	start := len(line) - len(strings.TrimLeft(line, "\ufeff \t"))
	changed, err := e.requirement(line[start:], l.requirement)
	if changed = line[:start] + changed; err != nil || changed == line || l.hashes == nil {
		return changed, err
	}
	return e.renew(changed)
}

// hashOptions matches the hashes of a requirement, which may be in the next line.
var hashOptions = lazyregexp.New(`--hash[=\s](?:\s|\\\r?\n)*[a-z0-9]+:[0-9a-fA-F]+`)

// renew returns a line with the hashes of the new version, with what is between the old ones.
func (e *edition) renew(line string) (string, error) {
	hashes, err := e.hashes()
	if err != nil {
		return "", err
	}
	at := hashOptions.FindAllStringIndex(line, -1)
	if at == nil {
		return "", fmt.Errorf("the hashes of %s are written in an unusual form; %w", e.to.Name, ErrByHand)
	}
	first, last := at[0], at[len(at)-1]
	before := line[len(strings.TrimRight(line[:first[0]], "\\\r\n\t ")):first[0]]
	between := before
	if len(at) > 1 {
		between = line[first[1]:at[1][0]]
	}
	return line[:first[0]] + "--hash=" + strings.Join(hashes, between+"--hash=") + line[last[1]:], nil
}

// add returns a requirements file with a line for the new package.
func (e *edition) add(text string) ([]byte, error) {
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += end
	}
	line := e.Requirement
	if hashOptions.MatchString(text) {
		hashes, err := e.hashes()
		if err != nil {
			return nil, err
		}
		between := " \\" + end + "    --hash="
		line += between + strings.Join(hashes, between)
	}
	return []byte(text + line + end), nil
}

// editEnvironment changes the pip requirements of a conda environment file.
func editEnvironment(data []byte, e *edition) ([]byte, error) {
	file, err := document(data)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(data), "\n")
	for _, d := range items(member(file, "dependencies")) {
		for _, item := range items(member(d, "pip")) {
			if item.Kind != yaml.ScalarNode {
				continue
			}
			l, err := one(item.Value)
			if err != nil || l == nil || l.requirement.Name != e.to.Name {
				continue
			}
			at := &lines[item.Line-1]
			start := strings.Index(*at, item.Value)
			if start < 0 {
				return nil, fmt.Errorf("%s is not in one line; %w", e.to.Name, ErrByHand)
			}
			changed, err := e.line(item.Value, l)
			if err != nil {
				return nil, err
			}
			*at = (*at)[:start] + changed + (*at)[start+len(item.Value):]
		}
	}
	if e.Old == "" {
		return nil, fmt.Errorf("%s is not listed; %w", e.to.Name, ErrByHand)
	}
	return []byte(strings.Join(lines, "")), nil
}

// Sources returns the files next to a requirements file that a tool may have made it from. A line
// there that does not allow a version would bring the old one back. It is nil for a file that is
// not made by a tool.
func Sources(file string, data []byte) []string {
	beginning := data[:min(len(data), maxRequirement)]
	stem, ok := strings.CutSuffix(file, ".txt")
	if !ok || !bytes.Contains(beginning, []byte("autogenerated by")) {
		return nil
	}
	return []string{stem + ".in", path.Join(path.Dir(file), "pyproject.toml")}
}
