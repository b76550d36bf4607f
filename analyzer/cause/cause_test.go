package cause_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/shellword"
)

const wheel = "dist/widget-1.0-py3-none-manylinux2014_x86_64.whl"

// report returns a report about one wheel with these findings.
func report(fs ...result.Finding) *result.Report {
	r := result.New("test")
	r.Artifacts = []result.Artifact{{
		Path: wheel,
		Kind: "wheel",
		Wheel: &result.Wheel{
			Name:     "widget",
			Version:  "1.0",
			Tags:     []string{"py3-none-manylinux_2_17_x86_64"},
			Requires: []string{"torch>=2.5"},
		},
	}}
	for i := range fs {
		f := &fs[i]
		f.Artifact = wheel
		if f.Target == "" {
			f.Target = "manylinux_2_17_x86_64"
		}
		if f.Severity == "" {
			f.Severity = result.Error
		}
		f.Demangled = result.Demangle(f.Symbol)
	}
	r.Findings = fs
	cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
	return r
}

func tooNew(object, symbol, library, version, tag string) result.Finding {
	retags := []fix.Retagging{{
		Wheel: &fix.Wheel{File: "widget-1.0-py3-none-manylinux2014_x86_64.whl"},
		To:    pkgmeta.Tag{Platform: tag},
	}}
	return result.Finding{
		Rule: "symbol-version-too-new", Object: object, Symbol: symbol, Library: library,
		Version: version, Package: "widget",
		Fixes: []fix.Fix{{
			Kind:     fix.KindPlatformTag,
			Title:    fix.Tagging(tag),
			Command:  fix.RetagCommand(retags),
			Retags:   retags,
			Verified: true,
		}},
	}
}

func lacks(object, symbol, requirement string) result.Finding {
	return result.Finding{
		Rule: "symbol-missing-in-package", Object: object, Symbol: symbol, Library: "libc10.so",
		Package: "torch",
		Fixes: []fix.Fix{{
			Kind: fix.KindPin, Title: fix.Titled("Require %s", fix.Requirement(requirement)),
			Command:     shellword.Requirement(requirement),
			Requirement: requirement, Verified: true,
		}},
	}
}

// asRequired adds a fix: the required versions remove the finding.
func asRequired(f result.Finding) result.Finding {
	f.Fixes = append(f.Fixes, fix.Fix{
		Kind: fix.KindEnvironment, Title: fix.Titled("Install the versions that it requires"),
		Command:  "pip install torch==2.5.1 numpy==1.26",
		Verified: true,
		Change: fix.AsRequired{
			Requirements: []string{"torch<2.6", "numpy<2"}, Pins: []string{"torch==2.5.1", "numpy==1.26"},
		},
	})
	return f
}

// ofExtra is about a library of a package that an extra of the wheel requires.
func ofExtra(library, requirement, extra string) result.Finding {
	f := needs("w/a.so", library)
	f.Fixes = []fix.Fix{{Kind: fix.KindDependency, Title: fix.Titled("Install the extra %s", extra),
		Command: "pip install 'widget[" + shellword.Line(extra) + "]==1.0'", Requirement: requirement,
		Extra: extra}}
	return f
}

// inPackage is about a library of a package that the wheel does not declare.
func inPackage(library, name string) result.Finding {
	f := needs("w/a.so", library)
	f.Fixes = []fix.Fix{{Kind: fix.KindDependency, Title: fix.Titled("Declare %s", name),
		Requirement: name, Change: fix.Pin{Requirement: name, Direct: true}}}
	return f
}

func needs(object, library string) result.Finding {
	return result.Finding{
		Rule: "library-not-found", Object: object, Library: library, Severity: result.Warning,
		Package: "widget",
	}
}

// titles returns "severity id: title" for each cause.
func titles(r *result.Report) (out []string) {
	for _, c := range r.Causes {
		out = append(out, fmt.Sprintf("%s %s: %s", c.Severity, c.ID, c.Title))
	}
	return out
}

func excluded(target, title string) result.Finding {
	reason := "its tag is manylinux_2_35_x86_64"
	return result.Finding{
		Rule: "tag-excludes-platform", Target: target, Reason: reason,
		Headline: "pip does not install this wheel on " + title + ", which has glibc 2.34: " + reason,
	}
}

// A wheel whose tag excludes a platform keeps what its tag promises, but the platform was named.
func TestShipExcluded(t *testing.T) {
	c := report(excluded("rhel9", "RHEL 9")).Causes[0]
	want := "Not for RHEL 9: pip does not install this wheel there, since no tag claims it."
	if c.Ship != want || !c.Unclaimed || c.Only != "RHEL 9" || len(c.Evidence) != 0 {
		t.Errorf("ship %q, want %q; only %q, unclaimed %v, evidence %v", c.Ship, want, c.Only,
			c.Unclaimed, c.Evidence)
	}
}

func TestOrigins(t *testing.T) {
	for name, c := range map[string]struct {
		findings []result.Finding
		want     []string
	}{
		"tag": {
			[]result.Finding{
				tooNew("a.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64"),
				tooNew("b.so", "_ZNSt6thread4joinEv", "libstdc++.so.6", "GLIBCXX_3.4.26",
					"manylinux_2_34_x86_64"),
				{Rule: "link-undefined-reference", Object: "a.so", Symbol: "pow",
					Library: "libm.so.6", Version: "GLIBC_2.29"},
			},
			[]string{"error built-too-new: tagged manylinux2014, but needs manylinux_2_34"},
		},
		"macOS": {
			[]result.Finding{{Rule: "symbol-version-too-new", Object: "a.so", Symbol: "_os_sync_wait",
				Library: "/usr/lib/libSystem.B.dylib", Version: "14.4", Target: "macosx_11_0_arm64"}},
			[]string{"error built-too-new: needs macOS 14.4, which is newer than macosx_11_0_arm64"},
		},
		"Windows": {
			[]result.Finding{{Rule: "symbol-version-too-new", Object: "a.pyd", Symbol: "CreateIoRing",
				Library: "KERNEL32.dll", Version: "10.0.22000", Target: "win_amd64"}},
			[]string{"error built-too-new: needs Windows 11; win_amd64 includes older releases"},
		},
		"extra": {
			[]result.Finding{{Rule: "library-not-found", Object: "w/a.so", Library: "libcudnn.so.9",
				Severity: result.Warning, Fixes: []fix.Fix{{Kind: fix.KindDependency,
					Title:       fix.Titled("Install the extra cudnn, which requires nvidia-cudnn-cu12~=9.0"),
					Command:     "pip install 'widget[cudnn]==1.0'",
					Requirement: "nvidia-cudnn-cu12~=9.0", Extra: "cudnn"}}}},
			[]string{"warning extras: needs libcudnn.so.9 of nvidia-cudnn-cu12, which only its extra cudnn " +
				"requires"},
		},
		"several extras": {
			[]result.Finding{
				ofExtra("libcudnn.so.9", "nvidia-cudnn-cu12~=9.0", "cudnn"),
				ofExtra("libcudart.so.12", "nvidia-cuda-runtime-cu12~=12.0", "cuda"),
				ofExtra("libcufft.so.11", "nvidia-cufft-cu12~=11.0", "cuda"),
			},
			[]string{"warning extras: needs libcudnn.so.9, libcudart.so.12 and 1 more library of 3 packages, " +
				"which only its extras cuda and cudnn require"},
		},
		"one of several extras": {
			[]result.Finding{{Rule: "library-not-found", Object: "w/a.so", Library: "libmlx.so",
				Fixes: []fix.Fix{
					{Kind: fix.KindDependency, Title: fix.Titled("cpu"), Requirement: "mlx-cpu==1", Extra: "cpu"},
					{Kind: fix.KindDependency, Title: fix.Titled("cuda"), Requirement: "mlx-cuda==1", Extra: "cuda"},
				}}},
			[]string{"error extras: needs libmlx.so of mlx-cpu, which only an extra of the wheel requires"},
		},
		"variants for releases of FFmpeg": {
			[]result.Finding{
				needs("w/libops6.so", "libavcodec.so.60"), needs("w/libops6.so", "libswresample.so.4"),
				needs("w/libops4.so", "libavcodec.so.58"), needs("w/libops5.so", "libavcodec.so.59"),
			},
			[]string{"warning system-ffmpeg: needs FFmpeg 4, 5 or 6, which not every manylinux2014 system has"},
		},
		"objects for releases of FFmpeg": {
			[]result.Finding{
				needs("w/libold.so", "libavcodec.so.58"), needs("w/libnew.so", "libavcodec.so.59"),
			},
			[]string{"warning system-ffmpeg: needs libavcodec.so.58 and libavcodec.so.59 of FFmpeg, " +
				"which not every manylinux2014 system has"},
		},
		"package": {
			[]result.Finding{
				lacks("a.so", "_ZN3c104sizeEv", "torch>=2.5,<2.7"),
				lacks("b.so", "_ZN3c104rankEv", "torch>=2.4,<2.6"),
			},
			[]string{"error package-torch: torch lacks c10::size and 1 more symbol, needed by 2 files"},
		},
		"system": {
			[]result.Finding{needs("a.so", "libEGL.so.1"), needs("a.so", "libX11.so.6")},
			[]string{"warning system-libraries: needs libEGL.so.1 and libX11.so.6 of the system, " +
				"which not every manylinux2014 system has"},
		},
		"missing": {
			[]result.Finding{needs("a.so", "libb64.so.0d"), needs("b.so", "libhwloc.so.5"),
				needs("b.so", "libhwloc.so.15")},
			[]string{"warning missing-libb64: needs libb64.so.0d, libhwloc.so.5 and 1 more library, which " +
				"are neither bundled nor declared"},
		},
		"several projects of the system": {
			[]result.Finding{needs("a.so", "libcups.so.2"), needs("a.so", "libgomp.so.1"),
				needs("a.so", "libcuda.so.1")},
			[]string{
				"warning system-libraries: needs libcups.so.2 and libgomp.so.1 of the system, which not " +
					"every manylinux2014 system has",
				"warning system-the-nvidia-driver: needs libcuda.so.1 of the NVIDIA driver, which not every " +
					"manylinux2014 system has",
			},
		},
		"a release of FFmpeg and SoX": {
			[]result.Finding{
				needs("w/libops6.so", "libavcodec.so.60"), needs("w/libops4.so", "libavcodec.so.58"),
				needs("w/libsound.so", "libsox.so"),
			},
			[]string{
				"warning system-ffmpeg: needs FFmpeg 4 or 6, which not every manylinux2014 system has",
				"warning system-sox: needs libsox.so of SoX, which not every manylinux2014 system has",
			},
		},
		"packages of one CUDA release": {
			[]result.Finding{
				inPackage("libcudart.so.12", "nvidia-cuda-runtime-cu12"),
				inPackage("libcudnn.so.9", "nvidia-cudnn-cu12"), inPackage("libtorch.so", "torch"),
			},
			[]string{"warning undeclared: needs libcudart.so.12, libcudnn.so.9 and 1 more library of " +
				"CUDA 12 and torch, which the wheel does not declare"},
		},
		"packages of two CUDA releases": {
			[]result.Finding{
				inPackage("libcudart.so.12", "nvidia-cuda-runtime-cu12"),
				inPackage("libnvrtc.so.12", "nvidia-cuda-nvrtc-cu12"),
				inPackage("libcudart.so.13", "nvidia-cuda-runtime"),
				inPackage("libnvrtc.so.13", "nvidia-cuda-nvrtc"),
				inPackage("libtorch.so", "torch"),
				inPackage("libsycl.so.8", "intel-sycl-rt"),
			},
			[]string{
				"warning undeclared: needs libtorch.so and libsycl.so.8 of torch and intel-sycl-rt, which " +
					"the wheel does not declare",
				"warning undeclared-cuda-12: needs libcudart.so.12 and libnvrtc.so.12 of CUDA 12, which the " +
					"wheel does not declare",
				"warning undeclared-cuda-13: needs libcudart.so.13 and libnvrtc.so.13 of CUDA 13, which the " +
					"wheel does not declare",
			},
		},
		"a CUDA toolkit without packages": {
			[]result.Finding{
				needs("a.so", "libcublas.so.12"), needs("a.so", "libcutensor.so.2"),
				needs("a.so", "libnccl.so.2"), needs("a.so", "libamdhip64.so.6"),
			},
			[]string{
				"warning system-cuda: needs 3 libraries of the CUDA toolkit, cuTENSOR and NCCL, which not " +
					"every manylinux2014 system has",
				"warning system-rocm: needs libamdhip64.so.6 of ROCm, which not every manylinux2014 " +
					"system has",
			},
		},
		"a CUDA toolkit and packages of it": {
			[]result.Finding{
				inPackage("libcufft.so.11", "nvidia-cufft-cu12"), needs("a.so", "libcublas.so.12"),
				needs("a.so", "libcutensor.so.2"), needs("a.so", "libcublas.so.11"),
			},
			[]string{
				"warning undeclared-cuda-12: needs libcufft.so.11 and libcutensor.so.2 of CUDA 12 and " +
					"cuTENSOR, which the wheel does not declare",
				"warning system-the-cuda-toolkit: needs libcublas.so.12 and libcublas.so.11 of the " +
					"CUDA toolkit, which not every manylinux2014 system has",
			},
		},
		"an extra and other libraries of CUDA": {
			[]result.Finding{
				ofExtra("libcufft.so.11", "cuda-toolkit==12.*", "ctk"), needs("a.so", "libnccl.so.2"),
				needs("a.so", "libcutensor.so.2"),
			},
			[]string{"warning extras: needs libcufft.so.11, libnccl.so.2 and 1 more library of CUDA, some " +
				"of which only its extra ctk requires"},
		},
		"tags in WHEEL": {
			[]result.Finding{
				{Rule: "metadata-mismatch", Object: "widget-1.0.dist-info/WHEEL", Severity: result.Warning,
					Headline: "WHEEL has other tags", Fixes: []fix.Fix{{Kind: fix.KindRebuild,
						Title: fix.Titled("Write the tags"), Change: fix.WriteTags{},
						Retags: []fix.Retagging{{Wheel: &fix.Wheel{}}}}}},
				tooNew("a.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64"),
			},
			[]string{"error built-too-new: tagged manylinux2014, but needs manylinux_2_31"},
		},
		"tags in WHEEL of a wheel that is built again": {
			[]result.Finding{
				{Rule: "metadata-mismatch", Object: "widget-1.0.dist-info/WHEEL", Severity: result.Warning,
					Headline: "WHEEL has other tags", Fixes: []fix.Fix{{Kind: fix.KindRebuild,
						Title: fix.Titled("Write the tags"), Change: fix.WriteTags{},
						Retags: []fix.Retagging{{Wheel: &fix.Wheel{}}}}}},
				{Rule: "symbol-version-too-new", Object: "a.so", Symbol: "pow", Library: "libm.so.6",
					Version: "GLIBC_2.29"},
			},
			[]string{"error built-too-new: tagged manylinux2014, but needs manylinux_2_31",
				"warning metadata-mismatch: WHEEL has other tags"},
		},
		"libc": {
			[]result.Finding{
				{Rule: "library-not-found", Object: "a.so", Library: "libc.so.6", Target: "alpine3.20"},
				{Rule: "undefined-symbol", Object: "a.so", Symbol: "__libc_start", Target: "alpine3.20"},
			},
			[]string{"error wrong-libc-musl: built for glibc; Alpine 3.20 uses musl"},
		},
		"versions of glibc where musl is": {
			[]result.Finding{
				{Rule: "undefined-symbol", Object: "a.so", Symbol: "__strdup", Library: "libc.so.6",
					Version: "GLIBC_2.2.5", Target: "alpine3.20"},
			},
			[]string{"error wrong-libc-musl: built for glibc; Alpine 3.20 uses musl"},
		},
		"a symbol of a newer glibc without a version": {
			[]result.Finding{
				{Rule: "undefined-symbol", Object: "a.so", Symbol: "__libc_single_threaded",
					Library: "libc.so.6", Version: "GLIBC_2.32"},
			},
			[]string{"error built-too-new: tagged manylinux2014, but needs manylinux_2_34"},
		},
		"other versions than required": {
			[]result.Finding{
				asRequired(lacks("a.so", "_ZN3c104sizeEv", "torch<2.7")),
				asRequired(result.Finding{Rule: "undefined-symbol", Object: "a.so", Symbol: "rank"}),
			},
			[]string{"error other-versions: requires torch<2.6 (and 1 more package of other versions)"},
		},
		"a linker that does not find a library": {
			[]result.Finding{
				{Rule: "link-library-not-found", Object: "a.so", Library: "libother.so", Symbol: "f"},
				{Rule: "link-undefined-reference", Object: "a.so", Symbol: "g"},
			},
			[]string{"error link-path: linking against a.so fails: the linker does not find " +
				"libother.so"},
		},
		"a platform that the tag excludes": {
			[]result.Finding{excluded("amazonlinux2023", "Amazon Linux 2023")},
			[]string{"error tag-excludes-platform: pip does not install this wheel on Amazon Linux 2023, " +
				"which has glibc 2.34: its tag is manylinux_2_35_x86_64"},
		},
		"several platforms that the tag excludes": {
			[]result.Finding{excluded("rhel8", "RHEL 8"), excluded("debian11", "Debian 11")},
			[]string{"error tag-excludes-platform: pip does not install this wheel on RHEL 8, Debian 11: " +
				"its tag is manylinux_2_35_x86_64"},
		},
		"a library that another package needs of the system": {
			[]result.Finding{
				{Rule: "library-not-found", Object: "libQt6Core.so.6", Library: "libzstd.so.1",
					Package: "pyqt6-qt6", OtherPackage: true, Severity: result.Warning,
					Range: &result.Range{Package: "pyqt6-qt6"}},
			},
			[]string{"warning system-libraries-pyqt6-qt6: pyqt6-qt6 needs libzstd.so.1 of the system, " +
				"which not every manylinux2014 system has"},
		},
	} {
		if got := titles(report(c.findings...)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// Version ranges of a cause are intersected; of platform tags the newest is used.
func TestFixesAreMerged(t *testing.T) {
	r := report(
		lacks("a.so", "_ZN3c104sizeEv", "torch>=2.5,<2.7"),
		lacks("b.so", "_ZN3c104rankEv", "torch>=2.4,<2.6"),
	)
	x := r.Causes[0].Fixes[0]
	if x.Requirement != "torch>=2.5,<2.6" || x.Clears != 2 ||
		x.Title.String() != "Require torch>=2.5,<2.6 in the metadata of widget "+
			"(dependencies in pyproject.toml or setup.py)" ||
		!slices.Equal(x.Cost, []string{"pip cannot install it with packages that need other versions of torch",
			"if 1.0 is published, the fixed wheel needs a new version or build number"}) {
		t.Errorf("%+v", x)
	}
	if x.Verified {
		t.Error("an intersection that was not tried is verified")
	}
	r = report(
		lacks("a.so", "_ZN3c104sizeEv", "torch>=2.7"),
		lacks("b.so", "_ZN3c104rankEv", "torch<2.6"),
	)
	if n := len(r.Causes[0].Fixes); n != 0 {
		t.Errorf("%d fixes of ranges that contradict each other", n)
	}
	if !slices.Equal(r.Plan.Leaves, []string{"package-torch"}) {
		t.Errorf("the plan leaves %q", r.Plan.Leaves)
	}
}

// A builder limits the versions in the metadata; the command for installed packages comes second.
func TestLimitInMetadata(t *testing.T) {
	f := lacks("a.so", "_ZN3c104sizeEv", "mkl>=2025,<2026")
	f.Fixes[0].Kind, f.Fixes[0].Command = fix.KindEnvironment, "pip install 'mkl<2026' tbb==2022.1"
	r := report(f)
	c := r.Causes[0]
	if c.Actor != result.Builder || c.Ship != "Do not ship this wheel." || len(c.Fixes) != 2 {
		t.Fatalf("%+v", c)
	}
	if x := c.Fixes[0]; x.Kind != fix.KindPin || x.Command != shellword.Requirement(x.Requirement) || x.Clears != 1 {
		t.Errorf("first fix %+v", x)
	}
	if x := c.Fixes[1]; x.Kind != fix.KindEnvironment || x.Command != f.Fixes[0].Command {
		t.Errorf("second fix %+v", x)
	}
}

// Copies of one library have one fix, and what the linker does comes before an edit of the files.
func TestCopiesAreLinked(t *testing.T) {
	lost := func(object string) result.Finding {
		return result.Finding{
			Rule: "undefined-symbol", Object: object, Symbol: "crc32", Library: "libz.so.1",
			Fixes: []fix.Fix{
				{
					Kind: fix.KindLinkFlag, Title: fix.Titled("Link %s with libx.so.1",
						fix.Object(object)),
					Command: "-Wl,--no-as-needed -lz", Verified: true,
				},
				{Kind: fix.KindPatchelf, Title: fix.Titled("Add it"), Command: "patchelf x", Verified: true},
			},
		}
	}
	r := report(lost("p/liba.so.1"), lost("p/liba.so.1.0"))
	want := "Link p/liba.so.1 and p/liba.so.1.0 with libx.so.1"
	if x := r.Causes[0].Fixes; len(x) != 2 || x[0].Title.String() != want || x[0].Clears != 2 ||
		x[0].Command != "-Wl,--no-as-needed -lz" {
		t.Errorf("%+v", x)
	}
}

// Objects that each lack a library of their own have one fix by the linker and one command.
func TestEachIsLinked(t *testing.T) {
	lost := func(object, library string) result.Finding {
		change := fix.AddNeeded{Object: object, Libraries: []string{library}}
		return result.Finding{
			Rule: "undefined-symbol", Object: object, Symbol: "f_" + library,
			Fixes: []fix.Fix{
				{Kind: fix.KindLinkFlag, Title: fix.Titled("Link %s with %s (CMake)",
					fix.Object(object), fix.Library(library)),
					Verified: true, Change: change},
				{Kind: fix.KindPatchelf, Title: fix.Titled("In %s, add a DT_NEEDED entry for %s",
					fix.Object(object),
					fix.Library(library)),
					Command:  shellword.Line("patchelf --add-needed " + library + " " + object),
					Verified: true, Change: change},
			},
		}
	}
	r := report(lost("p/a.so", "libx.so"), lost("p/b.so", "liby.so"), lost("p/c.so", "libx.so"))
	var got []string
	for _, x := range r.Causes[0].Fixes {
		got = append(got, fmt.Sprintf("%d %s: %s", x.Clears, x.Title, x.Command))
	}
	want := []string{
		"3 Link p/a.so, p/b.so and 1 more file with libx.so and liby.so (CMake): ",
		"3 In p/a.so, p/b.so and 1 more file, add a DT_NEEDED entry for libx.so and liby.so: " +
			"patchelf --add-needed libx.so p/a.so p/c.so\npatchelf --add-needed liby.so p/b.so",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLinkerFlagsAreMerged checks that a variable of the environment is set once.
func TestLinkerFlagsAreMerged(t *testing.T) {
	lost := func(library string, flags shellword.Line) result.Finding {
		return result.Finding{
			Rule: "link-library-not-found", Object: "w/libw.so", Library: library, Symbol: "f",
			Fixes: []fix.Fix{{Kind: fix.KindLinkFlag, Title: fix.Titled("Link with"), Command: flags}},
		}
	}
	r := report(lost("liba.so", `LDFLAGS="-Wl,-rpath-link,$(x "a")/a"`),
		lost("libb.so", `LDFLAGS="-Wl,-rpath-link,b"`))
	want := shellword.Line(`LDFLAGS="-Wl,-rpath-link,$(x "a")/a -Wl,-rpath-link,b"`)
	if len(r.Causes) != 1 || len(r.Causes[0].Fixes) != 1 || r.Causes[0].Fixes[0].Command != want {
		t.Errorf("%+v, want the command %s", r.Causes, want)
	}
}

// That a build works on the system where it was built is no fix for an older one. It is one if only
// programs cannot be linked there.
func TestNewerSystem(t *testing.T) {
	newer := fix.Fix{
		Kind: fix.KindEnvironment, Title: fix.Titled("Build and run on a newer system, such as " +
			"debian12"),
		Change: fix.Retag{Platform: "debian12/x86_64"}, Verified: true,
	}
	link := result.Finding{
		Rule: "link-undefined-reference", Object: "a.so", Symbol: "f", Library: "libc.so.6",
		Version: "GLIBC_2.34", Target: "debian11", Fixes: []fix.Fix{newer},
	}
	load := tooNew("a.so", "f", "libc.so.6", "GLIBC_2.34", "manylinux_2_34_x86_64")
	load.Target = "debian11"
	for want, fs := range map[bool][]result.Finding{true: {link}, false: {link, load}} {
		fixes := report(fs...).Causes[0].Fixes
		offered := slices.ContainsFunc(fixes, func(x result.CauseFix) bool { return x.Title.Equal(newer.Title) })
		if offered != want {
			t.Errorf("%d findings: fixes %+v", len(fs), fixes)
		}
	}
}

func TestIntersect(t *testing.T) {
	for _, c := range [][3]string{
		{"torch>=2.5", "torch<2.6", "torch>=2.5,<2.6"},
		{"torch>=2.5,<3", "torch>2.5,<=3", "torch>2.5,<3"},
		{"torch==2.5.0", "torch>=2.4", "torch==2.5.0"},
		{"torch", "torch!=2.5.1,>=2", "torch>=2,!=2.5.1"},
		{"torch>=2.6", "torch<2.6", ""},
		{"torch==2.5.0", "torch>=2.6", ""},
		{"torch", "numpy", ""},
	} {
		got, ok := cause.Intersect(c[0], c[1])
		if !ok {
			got = ""
		}
		if got != c[2] {
			t.Errorf("%s and %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestShort(t *testing.T) {
	for symbol, want := range map[string]string{
		"dlopen": "dlopen",
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm": "std::string::_M_create",
		"_ZN3c106detail14torchCheckFailEPKcS2_jRKSs":                          "c10::detail::torchCheckFail",
		"_ZdlPvm": "operator delete",
		"_ZTVN10__cxxabiv120__si_class_type_infoE": "vtable for __cxxabiv1::__si_class_type_info",
	} {
		if got := cause.Short(symbol, ""); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
}

// The version that the title names, or else the first fix, is in the first row.
func TestNamedVersionIsFirst(t *testing.T) {
	wait := tooNew("a.so", "wait", "libstdc++.so.6", "GLIBCXX_3.4.30", "manylinux_2_37_x86_64")
	once := tooNew("a.so", "pthread_once", "libc.so.6", "GLIBC_2.34", "manylinux_2_37_x86_64")
	crc := tooNew("a.so", "crc32_combine_gen", "libz.so.1", "ZLIB_1.2.12", "manylinux_2_37_x86_64")
	on := func(target, title string, fs ...result.Finding) (out []result.Finding) {
		for _, f := range fs {
			f.Target, f.Fixes = target, slices.Clone(f.Fixes)
			if f.Fixes[0].Title = fix.Text(title); title == "" {
				f.Fixes = nil
			}
			out = append(out, f)
		}
		return out
	}
	for want, fs := range map[string][]result.Finding{
		"GLIBC_2.34": on("debian11", "", wait, once, crc),
		"ZLIB_1.2.12": on("manylinux_2_17_x86_64", "Tag the wheel manylinux_2_37_x86_64, the first in "+
			"auditwheel's list that has ZLIB_1.2.12", wait, once, crc),
	} {
		if c := report(fs...).Causes[0]; c.Evidence[0].Version != want {
			t.Errorf("%s: the first row has %s, want %s", c.Title, c.Evidence[0].Version, want)
		}
	}
}

// Every error and warning belongs to exactly one cause. 10,000 findings with three origins have
// three causes.
func TestManyFindings(t *testing.T) {
	var fs []result.Finding
	for i := range 4000 {
		object := fmt.Sprintf("copy%d/a.so", i%300)
		fs = append(fs,
			tooNew(object, fmt.Sprint("f", i), "libc.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64"),
			lacks(object, fmt.Sprint("_ZN3c104size", i, "Ev"), "torch>=2.5"),
			needs(object, "libEGL.so.1"),
		)
	}
	r := report(fs...)
	if len(r.Causes) != 3 {
		t.Fatalf("causes %q", titles(r))
	}
	seen := map[int]bool{}
	for _, c := range r.Causes {
		for _, i := range c.Findings {
			if seen[i] {
				t.Fatalf("finding %d is in two causes", i)
			}
			seen[i] = true
		}
		for _, e := range c.Evidence {
			if len(e.Symbols) > 10 || len(e.Objects) > 10 {
				t.Errorf("%s: a row of %d symbols, %d objects", c.ID, len(e.Symbols), len(e.Objects))
			}
		}
	}
	if len(seen) != len(fs) {
		t.Errorf("%d of %d findings are in a cause", len(seen), len(fs))
	}
}

func FuzzOf(f *testing.F) {
	f.Add("symbol-version-too-new", "a.so", "_ZN3c104sizeEv", "libm.so.6", "GLIBC_2.29", "torch>=2")
	f.Add("library-not-found", "", "", "libc.so.6", "", "x<1,>2")
	f.Add("link-undefined-reference", "a\x00b", "operator<", "", "", "!")
	f.Fuzz(func(t *testing.T, rule, object, symbol, library, version, requirement string) {
		r := report(
			result.Finding{Rule: rule, Object: object, Symbol: symbol, Library: library,
				Version: version, Fixes: []fix.Fix{{Kind: fix.KindPin, Requirement: requirement}}},
			result.Finding{Rule: "library-not-found", Object: object, Library: symbol},
		)
		n := 0
		for _, c := range r.Causes {
			n += len(c.Findings)
			if title := []rune(c.Title); len(title) == 0 || len(title) > 120 ||
				strings.ContainsAny(c.Title, "\n\t") {
				t.Errorf("title %q", c.Title)
			}
			if c.ID == "" || strings.Trim(c.ID, "abcdefghijklmnopqrstuvwxyz0123456789.+_-") != "" {
				t.Errorf("id %q", c.ID)
			}
		}
		if n != len(r.Findings) {
			t.Errorf("%d findings in causes, of %d", n, len(r.Findings))
		}
	})
}

// Two wheels of a project get one command for both; with different tags, each gets its own.
func TestTagsOfSeveralWheels(t *testing.T) {
	const x86, arm = "dist/widget-1.0-py3-none-manylinux2014_x86_64.whl",
		"dist/widget-1.0-py3-none-manylinux2014_aarch64.whl"
	const other = "dist/widget-1.0-py2-none-manylinux2014_x86_64.whl"
	finding := func(artifact, tag string) result.Finding {
		retags := []fix.Retagging{{
			Wheel: &fix.Wheel{File: strings.TrimPrefix(artifact, "dist/")},
			To:    pkgmeta.Tag{Platform: tag},
		}}
		return result.Finding{
			Rule: "symbol-version-too-new", Severity: result.Error, Artifact: artifact, Object: "a.so",
			Symbol: "pow", Library: "libm.so.6", Version: "GLIBC_2.29", Target: "manylinux_2_17_x86_64",
			Fixes: []fix.Fix{{
				Kind: fix.KindPlatformTag, Title: fix.Tagging(tag), Verified: true,
				Command: fix.RetagCommand(retags), Retags: retags,
				Change: fix.Retag{Platform: tag}, Cost: []string{"not before " + tag},
			}},
		}
	}
	const new31, new34 = "manylinux_2_31_x86_64", "manylinux_2_34_x86_64"
	const excludes = "that excludes RHEL 7, RHEL 8 and Debian 10"
	for name, c := range map[string]struct {
		findings []result.Finding
		title    string
		command  shellword.Line
		costs    []string
	}{
		"the same tag": {
			[]result.Finding{finding(x86, new31), finding(other, new31)},
			"Tag the wheels " + new31,
			"wheel tags --remove --platform-tag manylinux_2_31_x86_64 " +
				"widget-1.0-py3-none-manylinux2014_x86_64.whl widget-1.0-py2-none-manylinux2014_x86_64.whl",
			[]string{"not before " + new31, excludes + ", where it fails now"},
		},
		"a newer tag than the symbols need": {
			[]result.Finding{finding(x86, new34)},
			"Tag the wheel " + new34,
			"wheel tags --remove --platform-tag manylinux_2_34_x86_64 " +
				"widget-1.0-py3-none-manylinux2014_x86_64.whl",
			[]string{"not before " + new34, excludes +
				", where it fails now, and Ubuntu 20.04 and Debian 11, where it works"},
		},
		"two systems": {
			[]result.Finding{finding(x86, new31), finding(x86, new34), finding(arm, "manylinux_2_31_aarch64")},
			"Give each wheel the tag that its libraries need",
			"wheel tags --remove --platform-tag manylinux_2_34_x86_64 " +
				"widget-1.0-py3-none-manylinux2014_x86_64.whl\n" +
				"wheel tags --remove --platform-tag manylinux_2_31_aarch64 " +
				"widget-1.0-py3-none-manylinux2014_aarch64.whl",
			[]string{"not before " + new34},
		},
	} {
		r := result.New("test")
		for _, path := range []string{x86, other, arm} {
			r.Artifacts = append(r.Artifacts, result.Artifact{Path: path, Wheel: &result.Wheel{
				Name: "widget", Version: "1.0", Tags: []string{"py3-none-manylinux_2_17_x86_64"},
			}})
		}
		r.Findings = c.findings
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
		x := r.Causes[0].Fixes[0]
		if x.Title.String() != c.title || x.Command != c.command || !slices.Equal(x.Cost, c.costs) {
			t.Errorf("%s: %s\n%s\n%q", name, x.Title, x.Command, x.Cost)
		}
		last := c.findings[len(c.findings)-1]
		want := last.Fixes[0].Change.Apply(fix.Scenario{}).Platform
		if got := fix.Of(x.Change, last.Artifact).Apply(fix.Scenario{}).Platform; got != want {
			t.Errorf("%s: %s is checked on %s, want %s", name, last.Artifact, got, want)
		}
	}
}

// One fix installs everything that comes from the system, and one declares all packages of CUDA.
func TestOneActionOneFix(t *testing.T) {
	for _, c := range []struct {
		findings       []result.Finding
		title, command string
		clears         int
	}{
		{[]result.Finding{needs("a.so", "libcups.so.2"), needs("a.so", "libgomp.so.1")},
			"Install what contains these libraries (Debian and Ubuntu)",
			"apt-get install libcups2 libgomp1", 2},
		{[]result.Finding{needs("a4.so", "libavcodec.so.58"), needs("a5.so", "libavcodec.so.59")},
			"Install FFmpeg 4 or 5", "", 2},
		{[]result.Finding{needs("a.so", "libcups.so.2"), needs("a.so", "libmysqlclient.so.20")},
			"Install what contains these libraries (Debian and Ubuntu), and MySQL",
			"apt-get install libcups2", 2},
		{[]result.Finding{inPackage("libcudart.so.12", "nvidia-cuda-runtime-cu12"),
			inPackage("libcudnn.so.9", "nvidia-cudnn-cu12<10")},
			"Declare the dependencies nvidia-cuda-runtime-cu12 and nvidia-cudnn-cu12<10 (dependencies in " +
				"pyproject.toml or setup.py)", "", 2},
	} {
		causes := report(c.findings...).Causes
		if len(causes) != 1 || len(causes[0].Fixes) == 0 {
			t.Errorf("%s: %+v", c.title, causes)
			continue
		}
		x := causes[0].Fixes[0]
		if x.Title.String() != c.title || string(x.Command) != c.command || x.Clears != c.clears {
			t.Errorf("got %q %q, clears %d; want %q %q", x.Title, x.Command, x.Clears, c.title, c.command)
		}
	}
}

// Of two fixes for the same finding, only one is needed, although neither removes the whole cause.
func TestAlternativesAreNotJoined(t *testing.T) {
	both := needs("a.so", "libone.so.1")
	for _, title := range []string{"Bundle it", "Install it"} {
		both.Fixes = append(both.Fixes, fix.Fix{Kind: fix.KindPatchelf, Title: fix.Titled("%s", title)})
	}
	c := report(both, needs("a.so", "libtwo.so.1")).Causes[0]
	if len(c.Fixes) != 1 || c.Together {
		t.Errorf("%d fixes, together %v", len(c.Fixes), c.Together)
	}
}

// A change of the tags also writes them into WHEEL, so it removes more than one of the image does.
func TestTagsInWheelAreChangedToo(t *testing.T) {
	retags := []fix.Retagging{{Wheel: &fix.Wheel{}}}
	c := report(
		result.Finding{Rule: "metadata-mismatch", Object: "widget-1.0.dist-info/WHEEL",
			Severity: result.Warning, Headline: "WHEEL has other tags", Fixes: []fix.Fix{{
				Kind: fix.KindRebuild, Title: fix.Titled("Write the tags"), Change: fix.WriteTags{},
				Retags: retags}}},
		func() result.Finding {
			f := tooNew("a.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64")
			f.Fixes = append(f.Fixes, fix.Fix{Kind: fix.KindImage, Title: fix.Titled("Build in the image")})
			return f
		}(),
	).Causes[0]
	if len(c.Findings) != 2 || c.Fixes[0].Kind != fix.KindPlatformTag || c.Fixes[0].Clears != 2 {
		t.Errorf("%d findings, fixes %+v", len(c.Findings), c.Fixes)
	}
}

// bundling is about a library that auditwheel copies from a package of the system.
func bundling(library, name string) result.Finding {
	packages := fix.SystemPackages{With: fix.Apt, Names: []string{name}}
	f := needs("w/a.so", library)
	f.Severity = result.Error
	f.Fixes = []fix.Fix{
		{
			Kind: fix.KindPatchelf, Title: fix.Titled("Bundle %s", fix.Library(library)),
			Command:  "auditwheel repair widget-1.0-py3-none-manylinux2014_x86_64.whl",
			Bundling: &fix.Bundling{With: fix.Auditwheel, System: &packages},
		},
		fix.Install(fix.Titled("Install %s", name), packages),
		{Kind: fix.KindRebuild, Title: fix.Titled("Build without them")},
	}
	return f
}

// What auditwheel copies is installed first, by the same command. What users can do comes last.
func TestBundlingInstalls(t *testing.T) {
	r := report(bundling("libone.so.1", "libone1"), bundling("libtwo.so.2", "libtwo2"))
	if len(r.Causes) != 1 || len(r.Causes[0].Fixes) != 3 {
		t.Fatalf("got %d causes: %+v", len(r.Causes), r.Causes)
	}
	c := r.Causes[0]
	const want = "apt-get install libone1 libtwo2 && " +
		"auditwheel repair widget-1.0-py3-none-manylinux2014_x86_64.whl"
	if got := string(c.Fixes[0].Command); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if last := c.Fixes[2]; last.System == nil {
		t.Errorf("the last fix is %q", last.Title.String())
	}
	const affected = " Affected: systems without libone.so.1 and libtwo.so.2."
	if !strings.HasSuffix(c.Action, affected) {
		t.Errorf("got %q, want %q at the end", c.Action, affected)
	}
}

// The title of a warning says why it is none, if the same fault is an error for other tags.
func TestOnlyExtinctSystemsFail(t *testing.T) {
	f := tooNew("w/a.so", "memcpy", "libc.so.6", "GLIBC_2.14", "manylinux_2_17_x86_64")
	f.Target, f.Severity = "manylinux_2_5_x86_64", result.Warning
	r := result.New("test")
	r.Artifacts = []result.Artifact{{Path: wheel, Kind: "wheel", Wheel: &result.Wheel{Name: "widget",
		Version: "1.0", Tags: []string{"py3-none-manylinux_2_5_x86_64"}}}}
	r.Targets = []result.Target{{Name: f.Target}}
	f.Artifact = wheel
	for severity, want := range map[result.Severity]string{
		result.Warning: "tagged manylinux1, but needs manylinux2014, which every supported system has",
		result.Error:   "tagged manylinux1, but needs manylinux2014",
	} {
		f.Severity = severity
		r.Findings = []result.Finding{f}
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
		if got := r.Causes[0].Title; got != want {
			t.Errorf("%s: got %q, want %q", severity, got, want)
		}
	}
}

// An error for which the wheel has to be built again comes before a change of the present file,
// although that removes more findings. A warning does not.
func TestNewBuildFirst(t *testing.T) {
	rebuilt := func(severity result.Severity) result.Finding {
		f := needs("w/a.so", "libone.so.1")
		f.Severity = severity
		f.Fixes = []fix.Fix{{Kind: fix.KindRebuild, Title: fix.Titled("Build a platform wheel")}}
		return f
	}
	for severity, want := range map[result.Severity]bool{result.Error: true, result.Warning: false} {
		r := report(
			tooNew("a.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64"),
			tooNew("b.so", "exp", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64"),
			rebuilt(severity),
		)
		if len(r.Causes) != 2 {
			t.Fatalf("got %d causes", len(r.Causes))
		}
		if got := r.Causes[0].NewBuild(); got != want {
			t.Errorf("%s: the first cause is %s", severity, r.Causes[0].Title)
		}
	}
}

// A cause has the reason for its severity that all of its findings have.
func TestSeverityReason(t *testing.T) {
	because := func(library, why string) result.Finding {
		f := needs("w/a.so", library)
		f.Severity, f.Why = result.Error, why
		return f
	}
	const none = "no known package provides it"
	for _, c := range []struct{ second, want string }{{none, none}, {"it is part of b", ""}} {
		r := report(because("liba.so.1", none), because("libb.so.1", c.second))
		if len(r.Causes) != 1 || r.Causes[0].Why != c.want {
			t.Errorf("%s: got %q, want %q", c.second, r.Causes[0].Why, c.want)
		}
	}
	r := report(tooNew("a.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64"))
	if want := "by its tag, pip also installs it where it fails"; r.Causes[0].Why != want {
		t.Errorf("got %q, want %q", r.Causes[0].Why, want)
	}
}
