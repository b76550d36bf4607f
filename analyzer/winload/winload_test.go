package winload

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/analyzer/startup"
)

// environment creates an Environment of an archive: PE files in text form, and Python sources.
func environment(t *testing.T, python Python, archive string) *Environment {
	t.Helper()
	var files []*File
	sources := &startup.Sources{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if strings.HasSuffix(f.Name, ".py") || strings.HasSuffix(f.Name, ".pth") {
			sources.Add(f.Name, f.Data)
			continue
		}
		o, err := peobj.Parse(string(f.Data))
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		files = append(files, &File{Path: f.Name, Object: o})
	}
	return New(python, peobj.Amd64, files, sources)
}

// text formats a load, one line for each found or missing item.
func text(l *Load) string {
	var out []string
	for _, f := range l.Found[1:] {
		at := "-"
		if f.File != nil {
			at = f.File.Path
		}
		out = append(out, fmt.Sprintf("%s %s by %s", strings.ToLower(f.Name), at, f.How))
	}
	for _, m := range l.Missing {
		line := "missing " + m.Name
		if m.Delay {
			line += " delay"
		}
		for _, f := range m.Elsewhere {
			line += " " + f.Path
		}
		out = append(out, line)
	}
	for _, u := range l.Unresolved {
		out = append(
			out,
			strings.Join(append([]string{"no", u.Symbol.String(), "in", u.Library}, u.Through...), " "),
		)
	}
	return strings.Join(out, "\n")
}

func TestLoad(t *testing.T) {
	const extension = "-- pkg/ext.pyd --\npe amd64\nimport libh.dll helper #2\n"
	const library = "pe amd64\nexport helper 1\nexport - 2\n"
	for _, c := range []struct{ name, archive, want string }{
		{"the folder of the module", extension + "-- pkg/LibH.dll --\n" + library,
			"libh.dll pkg/LibH.dll by folder of module"},
		{"nowhere", extension, "missing libh.dll"},
		{"another folder", extension + "-- pkg/bin/libh.dll --\n" + library,
			"missing libh.dll pkg/bin/libh.dll"},
		{"another machine", extension + "-- pkg/bin/libh.dll --\npe x86\n", "missing libh.dll"},
		{"an added folder", extension + "-- pkg/bin/libh.dll --\n" + library +
			"-- pkg/__init__.py --\nimport " +
			"os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n",
			"libh.dll pkg/bin/libh.dll by add_dll_directory"},
		{"a folder that another package adds", extension + "-- pkg/bin/libh.dll --\n" + library +
			"-- other/__init__.py --\nimport os\nos.add_dll_directory(os.path.abspath('../pkg/bin'))\n",
			"missing libh.dll pkg/bin/libh.dll"},
		{"PATH, which counts for nothing", extension + "-- pkg/bin/libh.dll --\n" + library +
			"-- pkg/__init__.py --\nimport os\nos.environ['PATH'] += ';' + " +
			"os.path.join(os.path.dirname(__file__), 'bin')\n",
			"missing libh.dll pkg/bin/libh.dll"},
		{"loaded by ctypes", extension + "-- pkg/bin/libh.dll --\n" + library +
			"-- pkg/__init__.py --\nfrom pathlib import Path\nimport ctypes\n" +
			"ctypes.WinDLL(str(Path(__file__).parent / 'bin' / 'libh.dll'))\n",
			"libh.dll pkg/bin/libh.dll by loaded before"},
		{
			"loaded by ctypes in the first folder where that works",
			extension + "-- pkg/libh.dll --\npe amd64\nimport gone.dll g\nexport helper 1\nexport - 2\n" +
				"-- libs/libh.dll --\n" + library +
				"-- pkg/__init__.py --\nhere = os.path.dirname(__file__)\n" +
				"for f in [here + '/libh', os.path.join(os.path.dirname(here), 'libs', 'libh')]:\n" +
				"    try:\n        ctypes.CDLL(f)\n    except OSError:\n        pass\n",
			"libh.dll libs/libh.dll by loaded before",
		},
		{"a .pth file", extension + "-- lib/x/libh.dll --\n" + library +
			"-- boot.pth --\nimport start\n-- lib/start.py --\nfor f in look_for('lib/x'):\n  " +
			"os.add_dll_directory(f)\n",
			"libh.dll lib/x/libh.dll by add_dll_directory"},
		{"no such export", extension + "-- pkg/libh.dll --\npe amd64\nexport other 1\n",
			"libh.dll pkg/libh.dll by folder of module\nno helper in libh.dll\nno #2 in libh.dll"},
		{"forwarders", extension + "-- pkg/libh.dll --\npe amd64\nexport helper 1 libb.helper\nexport " +
			"- 2 libb.gone\n" +
			"-- pkg/libb.dll --\npe amd64\nexport helper\n",
			"libh.dll pkg/libh.dll by folder of module\nlibb.dll pkg/libb.dll by folder of module\nno #2 " +
				"in libh.dll libb.gone"},
		{"a forwarder to nowhere", extension +
			"-- pkg/libh.dll --\npe amd64\nexport helper 1 libb.helper\nexport - 2\n",
			"libh.dll pkg/libh.dll by folder of module\nmissing libb.dll"},
		{"forwarders in a circle", extension +
			"-- pkg/libh.dll --\npe amd64\nexport helper 1 libh.helper\nexport - 2\n",
			"libh.dll pkg/libh.dll by folder of module\nno helper in libh.dll" +
				strings.Repeat(" libh.helper", maxForwarders)},
		{"Windows and Python", "-- pkg/ext.pyd --\npe amd64\nimport KERNEL32.dll Sleep NoSuchFunctionW\n" +
			"import python312.dll PyModule_Create2 PyUnicode_AsUnicode\nimport VCRUNTIME140.dll memcpy\n" +
			"import api-ms-win-core-nosuch-l9-9-9.dll f\ndelay concrt140.dll g\n",
			"kernel32.dll - by Windows\npython312.dll - by Python\nvcruntime140.dll - by Python\n" +
				"missing api-ms-win-core-nosuch-l9-9-9.dll\nmissing concrt140.dll delay\n" +
				"no NoSuchFunctionW in KERNEL32.dll\nno PyUnicode_AsUnicode in python312.dll"},
		{"the folder of the module, also for a DLL elsewhere",
			"-- pkg/ext.pyd --\npe amd64\nimport liba.dll a\n-- pkg/bin/liba.dll --\npe amd64\nexport " +
				"a\nimport libh.dll h\n" +
				"-- pkg/bin/libh.dll --\npe amd64\nexport h\n-- pkg/__init__.py " +
				"--\nctypes.CDLL(os.path.join(here, 'liba.dll'))\n" +
				"here = os.path.dirname(__file__) + '/bin'\n",
			"liba.dll pkg/bin/liba.dll by loaded before\nlibh.dll pkg/bin/libh.dll by loaded before"},
	} {
		env := environment(t, Python{Interpreter: windows.Interpreter{Minor: 12}}, c.archive)
		if got := text(env.Load(env.files[0])); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.name, got, c.want)
		}
	}
}

// TestPath checks that Python 3.7 searches PATH.
func TestPath(t *testing.T) {
	env := environment(
		t,
		Python{Interpreter: windows.Interpreter{Minor: 7}},
		"-- pkg/ext.pyd --\npe amd64\nimport libh.dll helper\n-- pkg/bin/libh.dll --\npe amd64\nexport "+
			"helper\n"+
			"-- pkg/__init__.py --\nextra = os.path.join(os.path.dirname(__file__), "+
			"'bin')\nos.environ['PATH'] += os.pathsep + extra\n",
	)
	if got := text(env.Load(env.files[0])); got != "libh.dll pkg/bin/libh.dll by PATH" {
		t.Error(got)
	}
}

// TestImportedPackage checks that the effects of another package's __init__.py count if the
// module's own __init__.py imports it.
func TestImportedPackage(t *testing.T) {
	const files = "-- extra/ext.pyd --\npe amd64\nimport libh.dll helper\n" +
		"-- torch/lib/libh.dll --\npe amd64\nexport helper\n-- torch/__init__.py --\n" +
		"import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'lib'))\n" +
		"-- extra/__init__.py --\n"
	python := Python{Interpreter: windows.Interpreter{Minor: 12}}
	for source, want := range map[string]string{
		"from torch._extra import x\n": "libh.dll torch/lib/libh.dll by add_dll_directory",
		"import os\n":                  "missing libh.dll torch/lib/libh.dll",
	} {
		env := environment(t, python, files+source)
		if got := text(env.Load(env.files[0])); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}
