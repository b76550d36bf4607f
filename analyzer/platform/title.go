package platform

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/android"
)

// Architecture returns the architecture in a target's name; x86_64 without one.
func Architecture(target string) string {
	if _, arch, ok := strings.Cut(target, "/"); ok {
		return arch
	}
	for _, a := range Architectures() {
		if strings.HasSuffix(target, "_"+a) {
			return a
		}
	}
	return "x86_64"
}

// Title returns the usual name of a target: "Debian 11" for debian11, "manylinux2014" for
// manylinux_2_17_x86_64. The folder of a system keeps its name.
func Title(target string) string {
	if p := ParseTag(target).Android(); p != nil {
		return android.Release(p.APILevel()) + " (" + android.ABI(p.Arch) + ")"
	}
	if p := ParseTag(target).IOS(); p != nil {
		arch, sdk := p.Machine()
		if sdk == Simulator {
			return "iOS " + p.LibcVersion + " simulator (" + arch + ")"
		}
		return "iOS " + p.LibcVersion + " (" + arch + ")"
	}
	if p := ParseTag(target).Pyodide(); p != nil {
		return "Pyodide " + p.Pyodide().Release
	}
	name := strings.TrimSuffix(target, "_"+Architecture(target))
	if system, arch, ok := strings.Cut(name, "/"); ok {
		if !slices.Contains(Architectures(), arch) {
			return target
		}
		name = system
	}
	for _, maker := range [][2]string{
		{"debian", "Debian "}, {"ubuntu", "Ubuntu "}, {"rhel", "RHEL "}, {"alpine", "Alpine "},
		{"centos", "CentOS "}, {"amazonlinux", "Amazon Linux "}, {"sles", "SLES "},
	} {
		version, ok := strings.CutPrefix(name, maker[0])
		if ok && version != "" && '0' <= version[0] && version[0] <= '9' {
			return maker[1] + version
		}
	}
	if old := legacyTags[name]; old != "" {
		return old
	}
	return name
}

// legacyTags are the names of PEP 513, 571 and 599 for tags of PEP 600.
var legacyTags = map[string]string{
	"manylinux_2_5":  "manylinux1",
	"manylinux_2_12": "manylinux2010",
	"manylinux_2_17": "manylinux2014",
}
