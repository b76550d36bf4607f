package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
)

// gears is an index with gear, whose release 2.0 lacks spin, and packages that may use it.
func gears(t *testing.T) *packageIndex {
	const linux = "-py3-none-manylinux_2_28_x86_64.whl"
	gear := "elf x86_64\nsoname libgear.so.1\nneeded libc.so.6\nexport stop\n"
	user := "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\nrunpath $ORIGIN/../gear\nimport "
	plain := "elf x86_64\nneeded libc.so.6\n"
	all := map[string]map[string][]byte{}
	add := func(name, version, tags string, requires []string, files ...string) {
		if all[name] == nil {
			all[name] = map[string][]byte{}
		}
		all[name][name+"-"+version+tags] = madeWheel(t, name, version, requires, files...)
	}
	add("gear", "1.0", linux, nil, "gear/libgear.so.1", gear+"export spin\n")
	add("gear", "2.0", linux, nil, "gear/libgear.so.1", gear)
	add("mill", "3.1", linux, []string{"gear"}, "mill/_m.so", user+"spin\n")
	add("calm", "1.0", linux, []string{"box"}, "calm/_c.so", user+"stop\n") // through box
	add("box", "1.0", "-py3-none-any.whl", []string{"gear"})
	add("late", "1.0", linux, []string{"gear<2"}, "late/_l.so", user+"spin\n")
	add("alone", "1.0", linux, nil, "alone/_a.so", plain)
	return &packageIndex{files: all}
}

// lockTreeOf writes lock files below a folder.
func lockTreeOf(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The dependents are those pins of all files that require the package and have native code.
func TestImpactFromLocks(t *testing.T) {
	server := httptest.NewServer(gears(t))
	defer server.Close()
	vars := map[string]string{"PIP_INDEX_URL": server.URL + "/simple/"}
	dir := lockTreeOf(t, map[string]string{
		"api/requirements.txt":          "Mill==3.1\nalone==1.0\nbox==1.0\n",
		"web/uv.lock":                   uvOfGear,
		"web/notes.txt":                 "mill==3.0\n",
		"old/requirements.txt":          "late==1\ngear==1.0\nabsent==1.0\nbox>=1\n",
		"bad/poetry.lock":               "[",
		".hidden/requirements.txt":      "mill==2.9\n",
		"node_modules/requirements.txt": "mill==2.8\n",
		"new/pylock.toml": "lock-version = '1.0'\nrequires-python = '>=3.13'\n" +
			"[[packages]]\nname = 'gear'\nversion = '1.0'\n",
	})
	args := []string{"impact", "pypi:gear==2.0", "--python", "3.11", "--from-locks", dir}
	code, out, errs := runWith(t, vars, append(args, "--format", "json")...)
	var r impact.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	if code != exitIncompatible || r.Summary != (impact.Summary{Works: 1, Breaks: 1, Excluded: 1}) {
		t.Errorf("exit code %d, %+v", code, r.Summary)
	}
	var got []string
	for _, f := range r.Locks {
		at, _ := filepath.Rel(dir, filepath.FromSlash(f.Path))
		var pins []string
		for _, p := range f.Dependents {
			pins = append(pins, p.Requirement)
		}
		got = append(got, strings.TrimSuffix(filepath.ToSlash(at), "/requirements.txt")+": "+
			strings.Join(pins, " "))
		if n := len(f.Dependents) + len(f.Unknown) + f.Pure + f.Unrelated; n > f.Pins || n < f.Pins-1 {
			t.Errorf("%+v", f) // gear itself is none of them
		}
		unread := strings.HasPrefix(at, "bad") || strings.HasPrefix(at, "new")
		if unread != (f.Unread != "") {
			t.Errorf("%s: %q", at, f.Unread)
		}
	}
	want := "api: mill==3.1; bad/poetry.lock: ; new/pylock.toml: ; old: late==1; " +
		"web/uv.lock: calm==1.0 mill==3.1"
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	code, out, _ = runWith(t, vars, args...)
	for _, s := range []string{
		"1 of 3 dependents break with gear 2.0, compared with 1.0; 1 excluded by requirements; 1 works",
		"breaks  mill 3.1", "pinned in " + filepath.ToSlash(dir) + "/api/requirements.txt, ",
		"of 11 pins in 3 files, 4 require gear, directly or through others, and may have native code; " +
			"2 require it and have none; 2 do not require it; 1 requirement without a version not checked",
		"old/requirements.txt: not looked at: absent==1.0", "bad/poetry.lock was not read: ",
		"name another one with --python",
	} {
		if code != exitIncompatible || !strings.Contains(out, s) {
			t.Errorf("no %q in\n%s", s, out)
		}
	}
	_, out, _ = runWith(t, vars, append(args, "--format", "sarif")...)
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil || len(log.Runs) != 1 ||
		len(log.Runs[0].Results) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	x := log.Runs[0].Results[0]
	at := x.Locations[0].PhysicalLocation
	if x.RuleID != impactRule || at.Region.StartLine != 1 ||
		!strings.HasSuffix(at.ArtifactLocation.URI, "api/requirements.txt") {
		t.Errorf("%+v", x)
	}
	_, out, _ = runWith(t, vars, append(args, "--format", "html")...)
	for _, s := range []string{
		"<h1><span class=\"badge incompatible\">incompatible</span> gear 2.0</h1>",
		"1 of 3 dependents break with gear 2.0, compared with 1.0; 1 excluded by requirements; 1 works.",
		"mill 3.1 breaks with gear 2.0", "in the release: Keep spin as it was in gear 1.0",
		"<code>calm 1.0</code>", "it requires gear &lt;2, so pip does not install it with gear 2.0",
	} {
		if !strings.Contains(out, s) {
			t.Errorf("the page has no %q", s)
		}
	}
	for _, c := range []struct{ dir, want string }{
		{filepath.Join(dir, "none"), "give a folder"},
		{t.TempDir(), "it has no lock or requirements file"},
	} {
		if code, _, errs := runWith(t, vars, "impact", "pypi:gear==2.0", "--from-locks", c.dir); code !=
			exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %s", c.dir, code, errs)
		}
	}
}

// uvOfGear pins a package for an extra, and one that requires gear through another.
const uvOfGear = `version = 1
requires-python = ">=3.11"

[[package]]
name = "web"
version = "1"
source = { virtual = "." }
dependencies = [{ name = "calm" }, { name = "alone" }]

[package.optional-dependencies]
fast = [{ name = "mill" }]

[[package]]
name = "calm"
version = "1.0"
source = { registry = "https://packages.test/simple" }
dependencies = [{ name = "box" }]

[[package]]
name = "box"
version = "1.0"
source = { registry = "https://packages.test/simple" }
dependencies = [{ name = "gear" }]

[[package]]
name = "gear"
version = "1.0"
source = { registry = "https://packages.test/simple" }

[[package]]
name = "mill"
version = "3.1"
source = { registry = "https://packages.test/simple" }
dependencies = [{ name = "gear" }]

[[package]]
name = "alone"
version = "1.0"
source = { registry = "https://packages.test/simple" }
`

// Without named dependents, those of the built-in history are checked, at the newest releases that
// admit the new one.
func TestImpactOfKnownDependents(t *testing.T) {
	const linux = "-py3-none-manylinux_2_28_x86_64.whl"
	library := func(exports string) string {
		return "elf x86_64\nsoname libtinyxml2.so.10\nneeded libc.so.6\n" + exports
	}
	user := "elf x86_64\nneeded libtinyxml2.so.10\nneeded libc.so.6\nrunpath $ORIGIN\nimport parse\n"
	name := "cmeel_urdfdom-"
	server := httptest.NewServer(&packageIndex{files: map[string]map[string][]byte{
		"cmeel-tinyxml2": {
			"cmeel_tinyxml2-20.0" + linux: madeWheel(t, "cmeel_tinyxml2", "20.0", nil,
				"lib/libtinyxml2.so.10", library("export parse\n")),
			"cmeel_tinyxml2-21.0" + linux: madeWheel(t, "cmeel_tinyxml2", "21.0", nil,
				"lib/libtinyxml2.so.10", library("export read\n")),
		},
		"cmeel-urdfdom": {
			name + "30.0" + linux: madeWheel(t, "cmeel_urdfdom", "30.0",
				[]string{"cmeel-tinyxml2>=20"}, "lib/u.so", user),
			name + "31.0" + linux: madeWheel(t, "cmeel_urdfdom", "31.0",
				[]string{"cmeel-tinyxml2==20.*"}, "lib/u.so", user),
		},
	}})
	defer server.Close()
	code, out, errs := runWith(t, map[string]string{"PIP_INDEX_URL": server.URL + "/simple/"},
		"impact", "pypi:cmeel-tinyxml2==21.0", "--python", "3.11")
	for _, s := range []string{
		"the dependent breaks with cmeel_tinyxml2 21.0, compared with 20.0",
		"breaks  cmeel-urdfdom 30.0", "lib/u.so imports parse, which cmeel_tinyxml2 21.0 no longer",
		"the dependents are those of the built-in history, at their newest releases that allow it",
	} {
		if code != exitIncompatible || !strings.Contains(out, s) {
			t.Errorf("exit code %d, no %q in\n%s%s", code, s, out, errs)
		}
	}
}

// What some pins of a file are is not known, so a page does not say that nothing breaks.
func TestImpactOfALockFileThatWasNotRead(t *testing.T) {
	for _, c := range []struct {
		file impact.LockFile
		want analyzer.Verdict
	}{
		{impact.LockFile{Path: "uv.lock", Pins: 1}, analyzer.Compatible},
		{impact.LockFile{Path: "uv.lock", Unread: "it is no TOML"}, analyzer.Unchecked},
		{impact.LockFile{Path: "uv.lock", Unknown: []string{"mill==3.1"}}, analyzer.Unchecked},
	} {
		r := &impact.Report{
			New: impact.ID{Name: "gear", Version: "2.0"}, Locks: []impact.LockFile{c.file},
			Dependents: []impact.Entry{{Name: "calm", Version: "1.0", Verdict: impact.Works}},
		}
		if got := asReport(r).Verdict; got != c.want {
			t.Errorf("%+v: %s, want %s", c.file, got, c.want)
		}
	}
}
