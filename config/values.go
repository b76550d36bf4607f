package config

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
	"go.yaml.in/yaml/v4"
)

// checked is like strings for values that problem accepts. problem returns what is wrong with a
// value, as the rest of a sentence about it, or "".
func (p *parser) checked(to *[]string, problem func(value string) string) field {
	return func(n *yaml.Node, key string) {
		p.items(n, key, "a list ("+p.list+")", func(item *yaml.Node, at string) {
			s, ok := p.text(item, at)
			if !ok {
				return
			}
			if why := problem(s); why != "" {
				p.bad(item, at, "%s %s", quote(s), why)
				return
			}
			*to = append(*to, s)
		})
	}
}

// anything accepts all values.
func anything(string) string { return "" }

// unknownPlatform accepts the names that platform.Lookup knows for some architecture.
func unknownPlatform(name string) string {
	if platform.Validate(name) == nil {
		return ""
	}
	base, _, _ := strings.Cut(name, "/")
	return "is not a known platform; " + platform.Suggest(base, "x86_64")
}

var singleEquals = lazyregexp.New(`^([A-Za-z0-9][\w.\-\[\],]*)\s*=\s*([0-9][\w.!+*]*)$`)

// noRequirement accepts requirements (PEP 508).
func noRequirement(text string) string {
	_, err := pkgmeta.ParseRequirement(text)
	if err == nil {
		return ""
	}
	if m := singleEquals.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("is not a requirement; did you mean %s==%s?", m[1], m[2])
	}
	return "is not a requirement; write NAME==VERSION, for example torch==2.7.0"
}

var (
	nvidiaArch = lazyregexp.New(`^sm_[1-9][0-9]{1,2}$`)
	amdArch    = lazyregexp.New(`^gfx[0-9]{1,2}(?:[0-9a-f]{2}|(?:-[0-9]{1,2})?-generic)(?::[a-z]+[+-])*$`)
	// what people write instead of sm_NN
	likeNvidia = lazyregexp.New(`^(?i:sm|compute|cc)?[-_ ]?([1-9][0-9]?)\.?([0-9])[af]?$`)
)

// noGPU accepts the architectures that gpu.Archs.Cover compares: sm_NN and gfxNNN. sm_90a and
// sm_100f are targets of a compiler: no GPU has such a name.
func noGPU(arch string) string {
	if nvidiaArch.MatchString(arch) || amdArch.MatchString(arch) {
		return ""
	}
	if m := likeNvidia.FindStringSubmatch(arch); m != nil {
		return fmt.Sprintf("is not a GPU architecture; did you mean sm_%s%s?", m[1], m[2])
	}
	return "is not a GPU architecture; write sm_80 (NVIDIA, compute capability 8.0) or gfx90a (AMD)"
}

// outside accepts paths inside the repository.
func outside(file string) string {
	p := path.Clean(strings.ReplaceAll(file, `\`, "/"))
	if path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") || len(p) > 1 && p[1] == ':' {
		return "is not a path inside the repository; write it relative to the top folder, for " +
			"example requirements/prod.txt"
	}
	return ""
}

// noRepository accepts patterns of OWNER/NAME or NAME.
func noRepository(text string) string {
	if _, err := path.Match(text, ""); err != nil || strings.Count(text, "/") > 1 ||
		strings.ContainsAny(text, " :") {
		return "is not a repository; write it as NAME, OWNER/NAME or with a *, for example widget-*"
	}
	return ""
}
