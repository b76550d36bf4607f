package comment

import (
	"strings"
	"testing"
)

func TestReleaseText(t *testing.T) {
	for _, c := range []struct {
		name  string
		r     Release
		says  []string
		quiet []string
	}{
		{"nothing found", Release{Tag: "v1.2.3", Immutable: true, Before: "v1.2.2"}, nil,
			[]string{"immutable"}},
		{"immutable", Release{Tag: "v1.2.9", Immutable: true, Findings: 2}, []string{"immutable",
			"`v1.2.10`"}, []string{"already"}},
		{"no number", Release{Tag: "latest", Immutable: true, Findings: 2}, []string{"immutable",
			"new version"}, []string{"instance"}},
		{"a number that is none", Release{Tag: "v99999999999999999999", Immutable: true, Findings: 1},
			[]string{"new version"}, nil},
		{"draft", Release{Tag: "v1", Draft: true, Findings: 1, Before: "v0", Old: 1}, []string{"draft",
			"Of 1 finding, 1 was in `v0` already"}, nil},
		{"hostile", Release{Tag: "v1", Findings: 3, Before: "@team`#1", Old: 2},
			[]string{"Of 3 findings, 2 were in"}, nil},
	} {
		text := c.r.Text()
		for _, w := range c.says {
			if !strings.Contains(text, w) {
				t.Errorf("%s: doesn't say %q: %s", c.name, w, text)
			}
		}
		for _, w := range c.quiet {
			if strings.Contains(text, w) {
				t.Errorf("%s: says %q: %s", c.name, w, text)
			}
		}
		dead(t, c.name, text)
	}
}
