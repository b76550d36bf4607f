package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/mdsafe"
)

// system is a system on which wheels of a report were checked.
type system struct {
	name   string
	wheels int
	on     []string // titles of platforms; on Linux without the architecture
	archs  []string // on Linux
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
		text := strings.Join(s.on, ", ")
		if len(s.archs) > 0 {
			text += " on " + strings.Join(s.archs, ", ")
		}
		line := fmt.Sprintf("  %s, %s: %s", s.name, number(s.wheels, "wheel"), mdsafe.Visible(text))
		out = append(out, wrap(line, p.width, "    ")...)
	}
	return out
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
		if title := platform.Title(t.Name); !slices.Contains(out[i].on, title) {
			out[i].on = append(out[i].on, title)
		}
		arch := platform.Architecture(t.Name)
		if of == platform.TagLinux && !slices.Contains(out[i].archs, arch) {
			out[i].archs = append(out[i].archs, arch)
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
		slices.Sort(out[i].on)
		slices.Sort(out[i].archs)
	}
	return out
}
