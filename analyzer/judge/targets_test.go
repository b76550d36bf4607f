package judge

import (
	"debug/elf"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/machoobj"
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
			"its Mach-O files for x86_64, because no version of macOS was named for it",
		}},
		{"macos13", nil},
		{"debian12", []string{"its Mach-O files, because no version of macOS was named"}},
	} {
		_, skipped, err := Targets(f, nil, Platforms{Instead: []string{c.named}})
		if err != nil || !slices.Equal(skipped, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.named, skipped, err, c.want)
		}
	}
}
