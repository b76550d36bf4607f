package facts

import (
	"testing"

	"github.com/compat-app/compat/analyzer/platform"
)

func TestNames(t *testing.T) {
	for p, want := range map[string][3]bool{ // library, header, file of Windows
		"a/x.so":             {true, false, false},
		"x.so.1.2a":          {true, false, false},
		"x.so.1-2":           {},
		"x.solid":            {},
		"a/x.cpython-312.so": {true, false, false},
		"x.dylib":            {true, false, false},
		"x.DLL":              {false, false, true},
		"x.dll":              {true, false, true},
		"x.exe":              {false, false, true},
		"x.node":             {true, false, true},
		"include/a.hpp":      {false, true, false},
		"a.cpp":              {},
		"a":                  {},
	} {
		if got := [3]bool{isLibraryName(p), isHeader(p), windowsFile(p)}; got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	for tag, want := range map[string]bool{"win32": true, "x-cp312-cp312-win_amd64.whl": true,
		"WIN_ARM64": true, "linux_x86_64": false, "macosx_11_0_arm64": false, "darwin": false,
		"window": false} {
		if tagged(tag, platform.TagWindows) != want {
			t.Errorf("%s: for Windows is %v", tag, !want)
		}
	}
}

func TestInstalled(t *testing.T) {
	for p, want := range map[string]string{
		"pkg/x.pyd":                   "pkg/x.pyd",
		"Lib/site-packages/pkg/x.pyd": "pkg/x.pyd",
		"Library/bin/x.dll":           "../../Library/bin/x.dll",
		"DLLs/x.dll":                  "../../DLLs/x.dll",
		"x-1.data/platlib/pkg/x.pyd":  "pkg/x.pyd",
		"x-1.data/purelib/x.py":       "x.py",
		"x-1.data/data/bin/x.dll":     "../../bin/x.dll",
		"x-1.data/scripts/x.exe":      "../../Scripts/x.exe",
		"x-1.data/headers/x.h":        "../../Include/x.h",
		"x-1.data/other/x":            "x-1.data/other/x",
		"x-1.data/scripts":            "x-1.data/scripts",
		".data/scripts/x":             ".data/scripts/x",
	} {
		if got := Installed(p); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
}
