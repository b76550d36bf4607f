package docgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
)

// Platforms returns the page docs/platforms.md: every platform that --platform and compat.yml
// accept.
func Platforms() string {
	var b strings.Builder
	b.WriteString(`# Platforms

The values of ` + "`--platform`" + ` and of ` + "`platforms`" + ` in compat.yml: the tags of PEP 600 and PEP 656, and
distributions. Add another architecture than the artifact's after a slash: ` + "`debian11/aarch64`" + `.

*Contents* is the source of a platform's symbols. **read**: every export was read from the
packages of the release. **floors**: the newest symbol versions of the release are known; the
symbols of each version were read from another release, and libraries without versions are known
by name. **policy**: what the policy of the PEP allows; of libraries without symbol versions
(GLib, X11, expat) what each release has that was read and that the policy includes, and the last
one before it. **names**: the libraries are known by name only.

Some distributions update libstdc++ during the life of a release, and a platform here is the updated one. Amazon Linux
2023 has GLIBCXX_3.4.33 from release 2023.7 (April 2025) on; images and machines pinned to an earlier one have
GLIBCXX_3.4.29, as ` + "`rhel9`" + ` and ` + "`manylinux_2_34`" + ` have. SLES 15 was updated in the same way. To check what such a system
really has, use ` + "`--root`" + ` with its unpacked image.

A distribution here has the libraries of its smallest image with Python: of Debian and Ubuntu
those that ` + "`debootstrap --variant=minbase --include=python3`" + ` installs. Others are known too: those
of GCC (libgomp, libatomic, libgfortran, libquadmath, libitm; on Alpine also libstdc++ and
libgcc), libnuma, and those of GLib and X11 that policies allow. But images such as debian:12 and
ubuntu:22.04 do not have them, so an object that needs one gets a warning with the package to
install ([library-not-found](rules/library-not-found.md)).
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
			fmt.Fprintf(&b, "\n## %s\n\n| name | libc | contents | architectures |\n|---|---|---|---|\n", k)
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
		"\nPEP 600 allows any `manylinux_2_Y`. Between two policies it means glibc 2.Y and, for all " +
			"other libraries,\n" +
			"the older policy.\n",
	)
	b.WriteString(
		"\nSources: the policy files of auditwheel; the packages of Debian, Ubuntu and Alpine Linux " +
			"that the `column` lines\n" +
			"of `analyzer/platform/data` name; for the floors, the compliance data of PEP 600 " +
			"(mayeut/pep600_compliance). The\n" +
			"mirrors have no packages of Alpine 3.12 and 3.17 for aarch64.\n",
	)
	b.WriteString(`
## macOS, Windows, Android, iOS and Pyodide

| name | meaning |
|---|---|
| ` + "`macosx_11_0_arm64`, `macosx_10_13_x86_64`, `macosx_11_0_universal2`" + ` | the platform tag of a wheel, with any version of macOS |
| ` + "`macos14`, `macos12.3`" + ` | a version of macOS, on the architectures of the artifact |
| ` + "`win_amd64`, `win_arm64`, `win32`" + ` | the platform tags of Windows |
| ` + "`android_24_arm64_v8a`, `android_21_x86_64`" + ` | the platform tag of a wheel, with any API level of Android |
| ` + "`ios_13_0_arm64_iphoneos`, `ios_13_0_x86_64_iphonesimulator`" + ` | the platform tag of a wheel, with any version of iOS. What its libraries export is not known |
| ` + "`pyemscripten_2026_0_wasm32`, `pyodide_2025_0_wasm32`, `emscripten_3_1_58_wasm32`" + ` | the platform tag of a wheel for Pyodide, with the ABI 2024_0, 2025_0, 2026_0 or 2026_5 |

Names of several systems can be given together: each artifact is checked on those of its own system.
`)
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
