package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/symboltable"
)

// symbol is one name of a definition.
type symbol struct {
	machines map[string]bool
	// "6.1" is Windows 7, "10.0.17763" a release of Windows 10; "" unknown or before Vista
	since string
}

// exports writes the table of what some DLLs export, as "DLL!NAME": the release that added it, "-"
// if that is not known, and the machines.
func exports(files []definition, names []string, from string) (string, error) {
	fields := map[string]string{}
	for _, name := range names {
		symbols := map[string]*symbol{}
		for _, folder := range []string{"lib-common", "lib64", "lib32", "libarm32"} {
			for _, d := range files {
				if d.folder == folder && strings.EqualFold(d.name, name) {
					read(symbols, files, d, machines[folder], 0)
				}
			}
		}
		if len(symbols) < 20 {
			return "", fmt.Errorf("%s has %d exports, which can't be all", name, len(symbols))
		}
		for n, s := range symbols {
			on := slices.Sorted(maps.Keys(s.machines))
			fields[name+".dll!"+n] = cmp.Or(s.since, "-") + " " + strings.Join(on, " ")
		}
	}
	const comment = "Exports of DLLs of Windows, by the release that added them and machines, from "
	return symboltable.Format(comment+from, fields), nil
}

var (
	include = regexp.MustCompile(`^#include "([^"]+)\.def\.in"`)
	macro   = regexp.MustCompile(`^([A-Z_0-9]+)\((.*)\)`)
	entry   = regexp.MustCompile(
		`^"?([A-Za-z_?@$][\w?@$.]*)"?(?:\s+DATA)?(\s*==?\s*"?([\w?@$.]+)"?)?(\s+@(\d+))?`,
	)
	stdcall = regexp.MustCompile(`@\d+$`)
	// replaced is an export that mingw-w64 has a function of its own for.
	replaced = regexp.MustCompile(`^; (\w+) ; (?:replaced|mingw)`)

	added = regexp.MustCompile(`(?:added in|since) (Windows [^;()]*(?:\([^)]*\))?)`)
)

// only are the machines that a macro of func.def.in, a file of mingw-w64, keeps an entry for. An
// entry in another macro is kept for all machines.
var only = map[string][]string{
	"F32": {
		"x86",
		"arm",
	}, "F64": {"amd64", "arm64"}, "F_X86_ANY": {"x86", "amd64"}, "F_I386": {"x86"},
	"F_X64": {"amd64"}, "F_ARM32": {"arm"}, "F_ARM64": {"arm64"}, "F_ARM_ANY": {"arm", "arm64"},
	"F_NON_I386": {"amd64", "arm64", "arm"}, "F_NON_X64": {"x86", "arm64", "arm"},
	"F_NON_ARM64": {
		"x86",
		"amd64",
		"arm",
	}, "F_X86_NATIVE": {"x86", "amd64"}, "F_ARM_NATIVE": {"arm", "arm64"},
}

// read adds the names of a definition to symbols, for some machines. Conditions are taken for true,
// and aliases that only the import library has count as exports: a symbol too many hides a finding,
// one too few makes a false one.
func read(symbols map[string]*symbol, files []definition, d definition, on []string, depth int) {
	since := ""
	for _, line := range strings.Split(d.text, "\n") {
		line = strings.TrimSpace(line)
		if m := include.FindStringSubmatch(line); m != nil && depth < 4 {
			for _, f := range files {
				if f.name == m[1] && (f.folder == "lib-common" || f.folder == "def-include") {
					read(symbols, files, f, on, depth+1)
				}
			}
			continue
		}
		if strings.HasPrefix(line, "; This is list of") {
			since = release(line)
			continue
		}
		if m := replaced.FindStringSubmatch(line); m != nil {
			line = m[1]
		}
		if line == "" || line == "EXPORTS" || strings.ContainsAny(line[:1], ";#") ||
			strings.HasPrefix(line, "LIBRARY") {
			continue
		}
		for _, n := range names(line) {
			add(symbols, n.name, n.machines, on, since)
		}
	}
}

type name struct {
	name     string
	machines []string // nil: all
}

// names reads one line.
func names(line string) []name {
	var on []string
	for {
		m := macro.FindStringSubmatch(line)
		if m == nil {
			break
		}
		if machines, ok := only[m[1]]; ok {
			on = machines
		} else if m[1] == "ADD_UNDERSCORE" || strings.HasPrefix(m[1], "ADD_") {
			return []name{{"_" + m[2], on}, {m[2], on}}
		}
		line = strings.TrimSpace(m[2])
	}
	m := entry.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	var out []name
	for _, n := range []string{m[1], m[3]} {
		if n != "" {
			out = append(out, name{undecorated(n), on})
		}
	}
	if m[5] != "" {
		out = append(out, name{"#" + m[5], on})
	}
	return out
}

// undecorated is the name that a DLL exports for the decorated one of a stdcall or fastcall
// function.
func undecorated(n string) string {
	if plain := stdcall.ReplaceAllString(n, ""); plain != n && !strings.HasPrefix(n, "?") {
		return strings.TrimPrefix(plain, "@")
	}
	return n
}

func add(symbols map[string]*symbol, name string, machines, on []string, since string) {
	s := symbols[name]
	if s == nil {
		s = &symbol{machines: map[string]bool{}, since: since}
		symbols[name] = s
	}
	if since != "" {
		s.since = since
	}
	for _, m := range on {
		if machines == nil || slices.Contains(machines, m) {
			s.machines[m] = true
		}
	}
}

// releases are how the comments name releases of Windows, newest first where one name begins like
// another.
var releases = []struct{ name, version string }{
	{"Windows Vista", "6.0"}, {"Windows 7", "6.1"}, {"Windows 8.1", "6.3"}, {"Windows 8", "6.2"},
}

var build = regexp.MustCompile(`Windows 1[01][^;]*`)

// builds of Windows 10 and 11 by the name of the update (Microsoft, "Windows 10 release
// information" and "Windows 11 release information"). A comment with another name gives no release.
var builds = map[string]string{
	"1507": "10.0.10240", "1511": "10.0.10586", "1607": "10.0.14393", "1703": "10.0.15063",
	"1709": "10.0.16299",
	"1803": "10.0.17134", "1809": "10.0.17763", "1903": "10.0.18362", "1909": "10.0.18363",
	"2004": "10.0.19041",
	"20H2": "10.0.19042", "21H1": "10.0.19043", "21H2": "10.0.22000", "22H2": "10.0.22621",
	"23H2": "10.0.22631",
	"24H2": "10.0.26100", "25H2": "10.0.26200",
}

// lastOf10 are the builds of Windows 10 whose update has the name of one of Windows 11.
var lastOf10 = map[string]string{"21H2": "10.0.19044", "22H2": "10.0.19045"}

var update = regexp.MustCompile(`\b(1[5-9]0[0-9]|1511|2004|2[0-9]H[12])\b`)

// release reads since when the symbols of a section are there; "" where that was before Vista or is
// not said.
func release(comment string) string {
	m := added.FindAllStringSubmatch(comment, -1)
	if m == nil {
		return ""
	}
	last := m[len(m)-1][1]
	for _, r := range releases {
		if strings.HasPrefix(last, r.name) {
			return r.version
		}
	}
	if b := build.FindString(last); b != "" {
		if u := update.FindString(b); u != "" {
			if last := lastOf10[u]; last != "" && strings.Contains(b, "Windows 10") {
				return last
			}
			return builds[u]
		}
	}
	return ""
}
