package docgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
)

// Platforms is the page of every platform that --platform and compat.yml take.
func Platforms() string {
	var b strings.Builder
	b.WriteString(`# Platforms

What ` + "`--platform`" + ` and ` + "`platforms`" + ` of compat.yml take: the tags of PEP 600 and PEP 656, and distributions. An architecture of its own stands behind a slash: ` + "`debian11/aarch64`" + `.

*Contents* says how the platform's libraries are known. **read**: every export was read from the release's own packages. **floors**: the newest symbol versions that it
has are known, and which symbol bears which version is read from another release; libraries without versions are known by name. **policy**: what the PEP's policy allows.
**names**: the libraries are known by name only.
`)
	type row struct{ names, libc, contents, archs string }
	var rows []*row
	at := map[string]*row{}
	for _, arch := range platform.Architectures() {
		for _, p := range platform.All(arch) {
			name := strings.TrimSuffix(p.Name, "_"+arch)
			names := "`" + name + "`"
			for _, a := range p.Aliases {
				names += ", `" + strings.TrimSuffix(a, "_"+arch) + "`"
			}
			contents := p.Contents()
			key := names + contents
			if at[key] == nil {
				at[key] = &row{names: names, libc: p.Libc + " " + p.LibcVersion, contents: contents}
				rows = append(rows, at[key])
			}
			at[key].archs += " " + arch
		}
	}
	slices.SortStableFunc(
		rows,
		func(a, b *row) int { return strings.Compare(kind(a.libc, a.names), kind(b.libc, b.names)) },
	)
	last := ""
	for _, r := range rows {
		if k := kind(r.libc, r.names); k != last {
			fmt.Fprintf(
				&b,
				"\n## %s\n\n| name | libc | contents | architectures |\n|---|---|---|---|\n",
				k,
			)
			last = k
		}
		fmt.Fprintf(
			&b,
			"| %s | %s | %s | %s |\n",
			r.names,
			r.libc,
			r.contents,
			strings.ReplaceAll(strings.TrimSpace(r.archs), " ", ", "),
		)
	}
	b.WriteString(
		"\nBetween and above the policies PEP 600 allows any `manylinux_2_Y`: it is glibc 2.Y with, of everything else, what the policy below promises.\n",
	)
	b.WriteString(
		"\nSources: the policy files of auditwheel; the packages of Debian, Ubuntu and Alpine Linux that `analyzer/platform/data` names in its `column` lines; for the floors the compliance data of PEP 600 (mayeut/pep600_compliance). Of Alpine 3.12 and 3.17 on aarch64 the mirrors have the index and not the packages.\n",
	)
	return b.String()
}

func kind(libc, names string) string {
	switch {
	case strings.Contains(names, "linux_"):
		return "Tags"
	case strings.HasPrefix(libc, "musl"):
		return "Distributions with musl"
	}
	return "Distributions with glibc"
}
