package judge

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/peobj"
)

// The platforms of a project are for all of its wheels: each wheel is checked on those of its system
// and architecture, and the others are no error.
func TestPlatformsForSeveralSystems(t *testing.T) {
	named := []string{
		"manylinux_2_31", "macosx_11_0_arm64", "macosx_10_13_x86_64", "macosx_12_0_arm64/arm64",
	}
	macho := func(arch string) *facts.Artifact {
		o := &machoobj.Object{Arch: arch, Type: machoobj.Bundle}
		return &facts.Artifact{MachO: []*facts.MachObject{{
			Path: "m.so", File: &machoobj.File{Slices: []machoobj.Slice{{Arch: arch, Object: o}}},
		}}}
	}
	elf := &facts.Artifact{Objects: []*facts.Object{{Path: "m.so", Object: &elfobj.Object{
		Machine: elfobj.Machine(elf.EM_X86_64), Class: 64, ByteOrder: "little",
	}}}}
	for _, c := range []struct {
		name string
		f    *facts.Artifact
		want []string
	}{
		{"Linux", elf, []string{"manylinux_2_31_x86_64"}},
		{"macOS x86_64", macho("x86_64"), []string{"macosx_10_13_x86_64"}},
		{"macOS arm64", macho("arm64"), []string{"macosx_11_0_arm64", "macosx_12_0_arm64"}},
	} {
		targets, _, err := Targets(c.f, nil, Platforms{Instead: named})
		var got []string
		for _, x := range targets {
			got = append(got, x.Platform.Name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// A universal2 file has slices of which only one has a version of macOS named for it.
func TestNoVersionOfMacOSForAnArchitecture(t *testing.T) {
	var parts []machoobj.Slice
	for _, arch := range []string{"arm64", "x86_64"} {
		o := &machoobj.Object{Arch: arch, Type: machoobj.Bundle}
		parts = append(parts, machoobj.Slice{Arch: arch, Object: o})
	}
	f := &facts.Artifact{MachO: []*facts.MachObject{
		{Path: "m.so", File: &machoobj.File{Slices: parts}},
	}}
	for _, c := range []struct {
		named string
		want  []string
	}{
		{"macosx_13_0_arm64", []string{
			"its Mach-O files for x86_64, because no macOS version was named for it; name one, such as " +
				"macos14, or no platform",
		}},
		{"macos13", nil},
		{"debian12", []string{
			"its Mach-O files for macOS arm64, x86_64, because debian12 is a platform of Linux; name one of " +
				"macOS, such as macos14, or no platform",
		}},
	} {
		_, skipped, err := Targets(f, nil, Platforms{Instead: []string{c.named}})
		if err != nil || !slices.Equal(skipped, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.named, skipped, err, c.want)
		}
	}
}

// TestPlatformsOfOtherSystems checks what is said of files if only platforms of other systems are
// named.
func TestPlatformsOfOtherSystems(t *testing.T) {
	f := facts.Artifact{Objects: []*facts.Object{{Path: "m.so", Object: &elfobj.Object{
		Machine: elfobj.Machine(elf.EM_X86_64), Class: 64, ByteOrder: "little",
	}}}}
	pe := &facts.Artifact{PE: []*facts.PEObject{{
		Path: "m.pyd", Object: &peobj.Object{Machine: peobj.Amd64},
	}}}
	for _, c := range []struct {
		f     *facts.Artifact
		named string
		want  string
	}{
		{&f, "win_amd64", "its ELF files for Linux x86_64, because win_amd64 is a platform of Windows; " +
			"name one of Linux, such as manylinux_2_28, or no platform"},
		{&f, "macos14 win_amd64", "its ELF files for Linux x86_64, because macos14, win_amd64 are for " +
			"other systems; name one of Linux, such as manylinux_2_28, or no platform"},
		{pe, "debian12", "its PE files for Windows amd64, because debian12 is a platform of Linux; " +
			"name one of Windows, such as win_amd64, or no platform"},
	} {
		_, skipped, err := Targets(c.f, nil, Platforms{Instead: strings.Fields(c.named)})
		if err != nil || !slices.Equal(skipped, []string{c.want}) {
			t.Errorf("%s: %q, %v, want %q", c.named, skipped, err, c.want)
		}
	}
}
