package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
	"go.yaml.in/yaml/v4"
)

// stub is a document of a text-based stub (.tbd, version 4).
type stub struct {
	Exports   []symbols `yaml:"exports"`
	Reexports []symbols `yaml:"reexports"`
}

type symbols struct {
	Targets     []string `yaml:"targets"`
	Symbols     []string `yaml:"symbols"`
	WeakSymbols []string `yaml:"weak-symbols"`
	Classes     []string `yaml:"objc-classes"`
}

// readStubs gives the architectures of every symbol. Names with $ld$ are instructions for a
// linker.
func readStubs(tbd []byte) (map[string][]string, error) {
	out := map[string][]string{}
	add := func(name, arch string) {
		if !strings.HasPrefix(name, "$ld$") && !slices.Contains(out[name], arch) {
			out[name] = append(out[name], arch)
			slices.Sort(out[name])
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(tbd))
	for {
		var s stub
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("libSystem.tbd: %w", err)
		}
		for _, e := range slices.Concat(s.Exports, s.Reexports) {
			for _, arch := range targets(e.Targets) {
				for _, name := range slices.Concat(e.Symbols, e.WeakSymbols) {
					add(name, arch)
				}
				for _, class := range e.Classes {
					add("_OBJC_CLASS_$_"+class, arch)
					add("_OBJC_METACLASS_$_"+class, arch)
				}
			}
		}
	}
}

// targets are the architectures of macOS targets. Apple's own libraries are arm64e, which serves
// programs for arm64.
func targets(list []string) []string {
	var out []string
	if slices.Contains(list, "arm64e-macos") || slices.Contains(list, "arm64-macos") {
		out = append(out, "arm64")
	}
	if slices.Contains(list, "x86_64-macos") {
		out = append(out, "x86_64")
	}
	return out
}

var (
	declaration = regexp.MustCompile(`^[|\x60]-(\w+)Decl .*? ([\w$]+) '`)
	available   = regexp.MustCompile(`^. [|\x60]-AvailabilityAttr .*> (?:Inherited )?macos ([\d.]+) `)
	label       = regexp.MustCompile(`^. [|\x60]-AsmLabelAttr .* "([^"]+)"`)
)

// annotatedLate are symbols that were there before the version of their annotation: every
// thread-local variable of programs for macOS 10.7 and later uses them.
var annotatedLate = []string{"__tlv_bootstrap", "__tlv_atexit"}

// The macOS that was planned as 16 was published as 26.
const (
	beforeRename = 16
	renamed      = 26
)

// readTree collects the first macOS of each declared function and variable, by the name that a
// linker sees. Of several declarations the oldest counts.
func readTree(dump io.Reader, since map[string]machoobj.Version) {
	var name string
	var first machoobj.Version
	flush := func() {
		if name == "" || first == 0 || slices.Contains(annotatedLate, name) {
			return
		}
		if v, ok := since[name]; !ok || first < v {
			since[name] = first
		}
	}
	lines := bufio.NewScanner(dump)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "|-") || strings.HasPrefix(line, "`-") {
			flush()
			name, first = "", 0
			if m := declaration.FindStringSubmatch(line); m != nil && (m[1] == "Function" || m[1] == "Var") {
				name = "_" + m[2]
			}
			continue
		}
		if m := label.FindStringSubmatch(line); m != nil && name != "" {
			name = m[1]
		}
		if m := available.FindStringSubmatch(line); m != nil {
			v, err := machoobj.ParseVersion(m[1])
			if v>>16 == beforeRename {
				v = machoobj.Make(renamed, 0)
			}
			if err == nil && (first == 0 || v < first) {
				first = v
			}
		}
	}
	flush()
}
