package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/mdsafe"
)

// system is a system on which wheels of a report were checked.
type system struct {
	name   string
	wheels int
	// on are titles of platforms, the oldest first; on Linux without the architecture.
	on    []string
	archs map[string][]string // on Linux: the architectures of each title, sorted
}

// systems returns a line for each system with the number of wheels for it and its platforms, if all
// of several wheels are compatible and they are for several systems; otherwise nil.
func (p *textPrinter) systems() (out []string) {
	r := p.report
	if len(r.Artifacts) < 2 || r.Verdict != analyzer.Compatible || len(r.Causes) > 0 {
		return nil
	}
	list := systemsOf(r)
	if len(list) < 2 || slices.ContainsFunc(list, func(s system) bool { return s.wheels == 0 }) {
		return nil
	}
	for _, s := range list {
		line := fmt.Sprintf("  %s, %s: %s", s.name, number(s.wheels, "wheel"),
			mdsafe.Visible(s.platforms()))
		out = append(out, wrap(line, p.width, "    ")...)
	}
	return out
}

// platforms lists the titles; on Linux those with the same architectures together, as in
// "manylinux1 on i686, x86_64; manylinux2014 on aarch64".
func (s *system) platforms() string {
	var groups, archs []string
	for _, title := range s.on {
		on := strings.Join(s.archs[title], ", ")
		if i := slices.Index(archs, on); i >= 0 {
			groups[i] += ", " + title
			continue
		}
		groups, archs = append(groups, title), append(archs, on)
	}
	for i, on := range archs {
		if on != "" {
			groups[i] += " on " + on
		}
	}
	return strings.Join(groups, "; ")
}

// systemsOf returns the systems of a report in the order of its platforms.
func systemsOf(r *analyzer.Report) (out []system) {
	at := map[platform.TagSystem]int{}
	for _, t := range r.Targets {
		of := platform.TargetSystem(t.Name)
		i, ok := at[of]
		if !ok {
			i = len(out)
			at[of], out = i, append(out, system{name: of.Name()})
		}
		title := platform.Title(t.Name)
		if !slices.Contains(out[i].on, title) {
			out[i].on = append(out[i].on, title)
		}
		if arch := platform.Architecture(t.Name); of == platform.TagLinux &&
			!slices.Contains(out[i].archs[title], arch) {
			if out[i].archs == nil {
				out[i].archs = map[string][]string{}
			}
			out[i].archs[title] = append(out[i].archs[title], arch)
		}
	}
	for _, a := range r.Artifacts {
		if a.Wheel == nil {
			continue
		}
		var seen []platform.TagSystem
		for _, tag := range a.Wheel.Tags {
			of := platform.ParseTag(tag[strings.LastIndexByte(tag, '-')+1:]).System
			if i, ok := at[of]; ok && !slices.Contains(seen, of) {
				seen = append(seen, of)
				out[i].wheels++
			}
		}
	}
	for i := range out {
		slices.SortFunc(out[i].on, natural)
		for _, archs := range out[i].archs {
			slices.Sort(archs)
		}
	}
	return out
}

// natural compares texts with numbers in them by the numbers: macosx_10_9 is before macosx_10_13.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := leading(a), leading(b)
		m, errM := strconv.Atoi(x)
		n, errN := strconv.Atoi(y)
		c := cmp.Compare(m, n)
		if errM != nil || errN != nil {
			c = strings.Compare(x, y)
		}
		if c != 0 {
			return c
		}
		a, b = a[len(x):], b[len(y):]
	}
	return strings.Compare(a, b)
}

// leading returns the digits that a text begins with or, if it begins with none, the text before
// the first digit.
func leading(s string) string {
	const digits = "0123456789"
	if rest := strings.TrimLeft(s, digits); len(rest) < len(s) {
		return s[:len(s)-len(rest)]
	}
	if i := strings.IndexAny(s, digits); i > 0 {
		return s[:i]
	}
	return s
}
