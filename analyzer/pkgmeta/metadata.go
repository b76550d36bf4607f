package pkgmeta

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxMetadata     = 4 << 20 // PyPI allows 1 MB of description; other fields are short
	maxRequirements = 10_000  // the longest published list has about 1,500
)

// Metadata is a METADATA file (core metadata; PEP 566, 643). Missing fields are "".
type Metadata struct {
	Name, Version  string // as written
	RequiresPython string // a specifier for ParseSpec, as written
	Requires       []Requirement
	// External are what Requires-External and Requires-External-Dep (PEP 725, a draft) name, as
	// written: "dep:generic/libffi@>=3"; at most maxExternal.
	External []string
	// errors of Requires-Dist lines that are not valid requirements, at most 20
	Problems []string
}

// ParseMetadata reads a METADATA or PKG-INFO file up to its description.
//
// It returns an error unless the file has at most 4 MiB, a Name and a Version (which are not
// validated) and at most 10,000 requirements. Invalid requirements are reported in Problems.
func ParseMetadata(data []byte) (*Metadata, error) {
	h, err := parseHeaders("METADATA", data)
	if err != nil {
		return nil, err
	}
	m := &Metadata{
		Name:           h.first("name"),
		Version:        h.first("version"),
		RequiresPython: h.first("requires-python"),
	}
	if m.Name == "" || m.Version == "" {
		return nil, fmt.Errorf("METADATA: has no Name or no Version")
	}
	m.External = slices.Concat(h["requires-external"], h["requires-external-dep"])
	m.External = m.External[:min(len(m.External), maxExternal)]
	requires := h["requires-dist"]
	if len(requires) > maxRequirements {
		return nil, fmt.Errorf(
			"METADATA: has %d requirements, more than the limit of %d",
			len(requires),
			maxRequirements,
		)
	}
	for _, line := range requires {
		r, err := ParseRequirement(line)
		switch {
		case err == nil:
			m.Requires = append(m.Requires, r)
		case len(m.Problems) < 20:
			m.Problems = append(m.Problems, err.Error())
		}
	}
	return m, nil
}

// maxExternal limits the external requirements of a project.
const maxExternal = 1000

// ExternalName returns what an external requirement names, in lower case: "libffi" for
// "dep:generic/libffi@>=3; os_name == 'posix'", or "" if it names nothing.
func ExternalName(requirement string) string {
	name, _, _ := strings.Cut(requirement, ";")
	if i := strings.IndexAny(name, "@?#(<>=!~ "); i >= 0 && strings.TrimSpace(name[:i]) != "" {
		name = name[:i]
	}
	return strings.ToLower(strings.TrimSpace(name[strings.LastIndexByte(name, '/')+1:]))
}

// Wheel is a WHEEL file (PEP 427).
type Wheel struct {
	Version    string // of the format, "1.0"; "" if missing
	Generator  string // "bdist_wheel (0.37.1)"; "" if missing
	Purelib    bool   // Root-Is-Purelib
	Build      string // build number; "" if missing
	Tags       []Tag
	Compressed bool // a Tag line contains several tags, as in "py2.py3-none-any"
}

// ParseWheel reads a WHEEL file. It returns an error unless the file has at most 4 MiB and at most
// 4,096 tags, all well-formed.
func ParseWheel(data []byte) (*Wheel, error) {
	h, err := parseHeaders("WHEEL", data)
	if err != nil {
		return nil, err
	}
	w := &Wheel{
		Version:   h.first("wheel-version"),
		Generator: h.first("generator"),
		Build:     h.first("build"),
		Purelib:   strings.EqualFold(h.first("root-is-purelib"), "true"),
	}
	for _, line := range h["tag"] {
		tags, err := ParseTags(line)
		if err != nil {
			return nil, fmt.Errorf("WHEEL: %w", err)
		}
		w.Compressed = w.Compressed || len(tags) > 1
		if w.Tags = append(w.Tags, tags...); len(w.Tags) > maxTags {
			return nil, fmt.Errorf("WHEEL: has more than %d tags", maxTags)
		}
	}
	return w, nil
}

// headers maps the names of fields, in lower case, to their values.
type headers map[string][]string

func (h headers) first(name string) string {
	if len(h[name]) == 0 {
		return ""
	}
	return h[name][0]
}

// parseHeaders reads fields in the format of e-mail headers: "Name: value", continuation lines
// begin with a space, an empty line ends them. Other lines are skipped, as in Python's parser.
func parseHeaders(file string, data []byte) (headers, error) {
	if len(data) > maxMetadata {
		return nil, fmt.Errorf(
			"%s: has %d bytes, more than the limit of %d",
			file,
			len(data),
			maxMetadata,
		)
	}
	h := headers{}
	name := ""
	var value strings.Builder
	flush := func() {
		if name != "" {
			h[name] = append(h[name], strings.TrimSpace(value.String()))
		}
		name = ""
		value.Reset()
	}
	for line := range strings.Lines(strings.ToValidUTF8(string(data), "\uFFFD")) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			value.WriteString(" " + strings.TrimLeft(line, " \t"))
			continue
		}
		flush()
		if key, text, ok := strings.Cut(line, ":"); ok && strings.Trim(key, " \t") == key {
			name = strings.ToLower(key)
			value.WriteString(text)
		}
	}
	flush()
	return h, nil
}
