package cause_test

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/rules"
)

const file = "./widget-1.0-py3-none-manylinux2014_x86_64.whl"

func TestReproduce(t *testing.T) {
	const load = `-c 'import ctypes, sys, sysconfig as s; ctypes.CDLL(s.get_path(sys.argv[1]) + "/" + sys.argv[2])' `
	const start = `-c 'import os, sys, sysconfig as s; ` +
		`f = s.get_path(sys.argv[1]) + "/" + sys.argv[2]; ` +
		`os.execv(f, [f])' `
	for _, test := range []struct {
		name    string
		finding result.Finding
		system  string
		image   string // "" = no container
		run     string // arguments of Python
		message string
	}{
		{
			"a module", result.Finding{
				Rule: "library-not-found", Object: "widget/_ext.cpython-312-x86_64-linux-gnu.so", Library: "libfoo.so.1",
			},
			"Debian 12", "python:3.12-slim-bookworm", `-c 'import widget._ext'`,
			"ImportError: libfoo.so.1: cannot open shared object file: No such file or directory",
		},
		{
			"a library", result.Finding{
				Rule: "undefined-symbol", Object: "widget.libs/libbar.so.2", Symbol: "bar", Version: "BAR_1",
			},
			"Debian 12", "python:3.12-slim-bookworm", load + "platlib widget.libs/libbar.so.2",
			"OSError: …/libbar.so.2: undefined symbol: bar, version BAR_1",
		},
		{
			"a program", result.Finding{
				Rule: "undefined-symbol", Object: "widget/bin/tool", Symbol: "bar", Version: "BAR_1",
				Program: true,
			},
			"Debian 12", "python:3.12-slim-bookworm", start + "platlib widget/bin/tool",
			"…/tool: symbol lookup error: …/tool: undefined symbol: bar, version BAR_1",
		},
		{
			"a program among the scripts", result.Finding{
				Rule: "library-not-found", Object: "widget-1.0.data/scripts/tool", Library: "libfoo.so.1",
				Program: true,
			},
			"Debian 12", "python:3.12-slim-bookworm", start + "scripts tool",
			"…/tool: error while loading shared libraries: libfoo.so.1: " +
				"cannot open shared object file: No such file or directory",
		},
		{
			"in the folder for data", result.Finding{
				Rule: "undefined-symbol", Object: "widget-1.0.data/data/lib/libbar.so", Symbol: "bar",
			},
			"Debian 12", "python:3.12-slim-bookworm", load + "data lib/libbar.so",
			"OSError: …/libbar.so: undefined symbol: bar",
		},
		{
			"an exception of Python, at one end of a range", result.Finding{
				Rule: "type-size-changed", Object: "widget/_ext.cpython-312-x86_64-linux-gnu.so",
				Raises: "ValueError: beads.Bead size changed",
			},
			"Debian 12", "python:3.12-slim-bookworm", `-c 'import widget._ext'`,
			"ValueError: beads.Bead size changed",
		},
		{
			"a version that Debian 11 lacks", tooNew("widget/_ext.abi3.so", "dlopen", "libc.so.6", "GLIBC_2.34",
				"manylinux_2_34_x86_64"),
			"Debian 11", "python:3.12-slim-bullseye", `-c 'import widget._ext'`,
			"ImportError: version `GLIBC_2.34' not found (required by …/_ext.abi3.so)",
		},
		{
			"a version of a library of a package", result.Finding{
				Rule: "symbol-missing-in-package", Object: "widget/_ext.so", Symbol: "f", Version: "Qt_6.7",
				Library: "libQt6Core.so.6", NoVersion: true,
			},
			"Debian 12", "python:3.12-slim-bookworm", `-c 'import widget._ext'`,
			"ImportError: version `Qt_6.7' not found (required by …/_ext.so)",
		},
		{
			"musl", result.Finding{
				Rule: "undefined-symbol", Object: "widget/_ext.so", Symbol: "f", Target: "alpine3.20",
			},
			"Alpine", "python:3.12-alpine", `-c 'import widget._ext'`,
			"ImportError: Error relocating …/_ext.so: f: symbol not found",
		},
		{
			"another machine", result.Finding{
				Rule: "undefined-symbol", Object: "widget/_ext.so", Symbol: "f", Target: "debian11/aarch64",
			},
			"Debian 11", "--platform linux/arm64 python:3.12-slim-bullseye", `-c 'import widget._ext'`,
			"ImportError: …/_ext.so: undefined symbol: f",
		},
		{
			"names that mean something to a shell and to Python", result.Finding{
				Rule: "undefined-symbol", Object: "widget/a b'$(x).so", Symbol: "f",
			},
			"Debian 12", "python:3.12-slim-bookworm", load + `platlib 'widget/a b'\''$(x).so'`,
			"OSError: …/a b'$(x).so: undefined symbol: f",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := report(test.finding).Causes[0].Reproduce
			if p == nil {
				t.Fatal("it cannot be reproduced")
			}
			if p.System != test.system || p.Message != test.message {
				t.Errorf("%q: %q", p.System, p.Message)
			}
			venv := "python3.12 -m venv reproduce && reproduce/bin/pip install " + file +
				" && reproduce/bin/python " + test.run
			if string(p.Venv) != venv {
				t.Errorf("%s", p.Venv)
			}
			options, image, ok := strings.Cut(test.image, "python:")
			if !ok {
				image = test.image
			}
			begins := "docker run --rm -i " + options + "-v .:/dist -w /dist python:" + image + " sh <<< "
			inner, ok := strings.CutPrefix(string(p.Container), begins)
			if want := "pip install " + file + " && python " + test.run; !ok || unquoted(t, inner) != want {
				t.Errorf("%s", p.Container)
			}
		})
	}
}

// With two releases that both fail, pip gets one of them.
func TestReproduceOneRelease(t *testing.T) {
	r := result.New("test")
	r.Artifacts = []result.Artifact{{
		Path: wheel, Kind: "wheel", Wheel: &result.Wheel{Name: "widget", Version: "1.0"},
	}}
	r.Targets = []result.Target{{
		Name: "manylinux_2_17_x86_64", With: []string{"beads==1.0", "other==2.0", "beads==3.0"},
	}}
	r.Findings = []result.Finding{{
		Rule: "type-size-changed", Severity: result.Error, Artifact: wheel, Package: "beads",
		Target: "manylinux_2_17_x86_64", Object: "widget/_ext.so", Raises: "ValueError",
	}}
	cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
	p := r.Causes[0].Reproduce
	if p == nil || !strings.Contains(string(p.Venv), " "+file+" beads==3.0 && ") {
		t.Errorf("%+v", p)
	}
}

// unquoted returns the only word of a command.
func unquoted(t *testing.T, text string) string {
	t.Helper()
	f, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	words := f.Stmts[0].Cmd.(*syntax.CallExpr).Args
	if len(f.Stmts) != 1 || len(words) != 1 {
		t.Fatalf("%s is not one word", text)
	}
	var b strings.Builder
	for _, p := range words[0].Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\'`, `'`))
		default:
			t.Fatalf("%s has %T", text, p)
		}
	}
	return b.String()
}

// Of several versions, the newest one of glibc fails on most systems. CentOS has the Python to
// unpack what no image of today shows.
func TestReproduceTheNewestVersion(t *testing.T) {
	p := report(
		tooNew("widget/_ext.so", "a", "libc.so.6", "GLIBC_2.18", "manylinux_2_24_x86_64"),
		tooNew("widget/_ext.so", "b", "libc.so.6", "GLIBC_2.23", "manylinux_2_24_x86_64"),
	).Causes[0].Reproduce
	want := "docker run --rm -i -v .:/dist -w /dist centos:7 sh <<< 'python -m zipfile -e " + file +
		" /tmp/wheel && ldd /tmp/wheel/widget/_ext.so'"
	if p == nil || string(p.Container) != want || p.System != "CentOS 7" ||
		!strings.Contains(p.Message, "`GLIBC_2.23' not found") {
		t.Errorf("%+v", p)
	}
}

func TestNotReproduced(t *testing.T) {
	for _, f := range []result.Finding{
		{Rule: "record-mismatch", Object: "RECORD"},
		{Rule: "library-not-found", Object: "widget/_ext.so", Library: "libpython3.12.so.1.0"},
		{Rule: "undefined-symbol", Object: "widget/_ext.so", Symbol: "f", Target: "macosx_11_0_arm64"},
	} {
		if p := report(f).Causes[0].Reproduce; p != nil {
			t.Errorf("%s: %+v", f.Rule, p)
		}
	}
}

// A finding at one end of a range is seen with the version at that end.
func TestReproduceAtOneEnd(t *testing.T) {
	for end, version := range map[packages.End]string{
		packages.Lowest: "1.0", packages.Highest: "2.1",
	} {
		p := report(result.Finding{
			Rule: "undefined-symbol", Object: "widget/_ext.so", Symbol: "f", Package: "beads",
			Range: &result.Range{
				Package: "beads", Requirement: "beads", Lowest: "1.0", Highest: "2.1", Fails: end,
			},
		}).Causes[0].Reproduce
		if p == nil || !strings.Contains(string(p.Venv), " install "+file+" beads=="+version+" && ") {
			t.Errorf("%v: %+v", end, p)
		}
	}
}
