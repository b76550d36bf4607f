package report

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
)

// Wheels for several systems that are all compatible have a line for each system.
func TestSystems(t *testing.T) {
	r := &analyzer.Report{Verdict: analyzer.Compatible}
	for _, tag := range []string{
		"manylinux_2_17_x86_64", "manylinux_2_17_aarch64", "win_amd64", "android_24_arm64_v8a",
		"ios_13_0_arm64_iphoneos", "pyemscripten_2026_0_wasm32", "manylinux_2_5_i686",
		"manylinux_2_31_riscv64", "musllinux_1_2_aarch64", "musllinux_1_2_x86_64",
		"macosx_10_13_x86_64", "macosx_11_0_arm64", "macosx_10_9_x86_64",
	} {
		r.Targets = append(r.Targets, analyzer.Target{Name: tag, Verdict: analyzer.Compatible})
		r.Artifacts = append(r.Artifacts, analyzer.Artifact{
			Path: "pkg-1.0-cp314-cp314-" + tag + ".whl", Objects: 1,
			Wheel: &analyzer.Wheel{Tags: []string{"cp314-cp314-" + tag}},
		})
	}
	text := func() string {
		var b strings.Builder
		if err := Text(&b, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := `  Linux, 6 wheels: manylinux1 on i686; manylinux2014, musllinux_1_2 on aarch64, x86_64;
    manylinux_2_31 on riscv64
  Windows, 1 wheel: win_amd64
  Android, 1 wheel: Android 7.0 (arm64_v8a)
  iOS, 1 wheel: iOS 13.0 (arm64)
  WebAssembly, 1 wheel: Pyodide 314
  macOS, 3 wheels: macosx_10_9, macosx_10_13, macosx_11_0_arm64
All needed symbols and libraries are found on these platforms.
`
	if got := text(); !strings.Contains(got, want) {
		t.Errorf("%s, want lines\n%s", got, want)
	}
	r.Targets, r.Artifacts = r.Targets[:2], r.Artifacts[:2]
	if got := text(); strings.Contains(got, "2 wheels") {
		t.Errorf("one system: %s", got)
	}
}
