package table

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Policy is an entry of auditwheel's policy files, with the names of their JSON.
type Policy struct {
	Name     string   `json:"name"`
	Aliases  []string `json:"aliases"`
	Priority int      `json:"priority"`
	// Versions maps an architecture and a family ("GLIBCXX") to the allowed nodes without the
	// family ("3.4.19").
	Versions  map[string]map[string][]string `json:"symbol_versions"`
	Whitelist []string                       `json:"lib_whitelist"`
	Blacklist map[string][]string            `json:"blacklist"`
}

// EncodePolicies returns the policies as lines of words, after a line with all architectures. The
// output depends only on the input.
func EncodePolicies(list []*Policy) []byte {
	var b bytes.Buffer
	line := func(words ...string) { b.WriteString(strings.Join(words, " ") + "\n") }
	archs := map[string]bool{}
	for _, p := range list {
		for arch := range p.Versions {
			archs[arch] = true
		}
	}
	line(append([]string{"architectures"}, slices.Sorted(maps.Keys(archs))...)...)
	for _, p := range list {
		line(append([]string{"policy", p.Name, strconv.Itoa(p.Priority)}, p.Aliases...)...)
		line(append([]string{"libraries"}, p.Whitelist...)...)
		for _, soname := range slices.Sorted(maps.Keys(p.Blacklist)) {
			line(append([]string{"forbidden", soname}, p.Blacklist[soname]...)...)
		}
		for _, arch := range slices.Sorted(maps.Keys(p.Versions)) {
			line("on", arch)
			for _, family := range slices.Sorted(maps.Keys(p.Versions[arch])) {
				line(append([]string{"versions", arch, family}, p.Versions[arch][family]...)...)
			}
		}
	}
	return b.Bytes()
}

// PolicyArchitectures returns the architectures of encoded policies, sorted.
func PolicyArchitectures(text string) []string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.Fields(strings.TrimPrefix(line, "architectures"))
}

// DecodePolicies decodes the policies that exist for an architecture; their Versions have only that
// architecture.
func DecodePolicies(text, arch string) ([]*Policy, error) {
	var list []*Policy
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case word == "architectures":
			continue
		case word == "policy":
			f := strings.Fields(rest)
			if len(f) < 2 {
				return nil, fmt.Errorf("policy %q has no priority", rest)
			}
			priority, err := strconv.Atoi(f[1])
			if err != nil {
				return nil, fmt.Errorf("policy %s: %w", f[0], err)
			}
			list = append(
				list,
				&Policy{
					Name:      f[0],
					Priority:  priority,
					Aliases:   f[2:],
					Versions:  map[string]map[string][]string{},
					Blacklist: map[string][]string{},
				},
			)
			continue
		case len(list) == 0:
			return nil, fmt.Errorf("%q before a policy", word)
		}
		p := list[len(list)-1]
		first, others, _ := strings.Cut(rest, " ")
		switch {
		case word == "libraries":
			p.Whitelist = strings.Fields(rest)
		case word == "forbidden":
			p.Blacklist[first] = strings.Fields(others)
		case word == "on":
			if first == arch {
				p.Versions[arch] = map[string][]string{}
			}
		case word == "versions" && (first != arch || p.Versions[arch] != nil):
			if first == arch {
				family, nodes, _ := strings.Cut(others, " ")
				p.Versions[arch][family] = strings.Fields(nodes)
			}
		default:
			return nil, fmt.Errorf("unknown line %q", word)
		}
	}
	return slices.DeleteFunc(list, func(p *Policy) bool { return p.Versions[arch] == nil }), nil
}
