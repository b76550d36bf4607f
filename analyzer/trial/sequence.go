package trial

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// shareTags makes one command of the fixes that change the tags of a wheel, if the plan has several
// of them. A cause that is only about the tags in WHEEL gets the fix of another cause, because
// after its own the wheel would have the old tags.
func shareTags(r *result.Report) {
	planned := map[string]bool{}
	for _, x := range r.Plan.Fixes {
		planned[x.Cause] = true
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		if !retags(c) {
			continue
		}
		for j := range r.Causes {
			d := &r.Causes[j]
			if i == j || !retags(d) {
				continue
			}
			switch mine, theirs := c.Fixes[0].Fix, d.Fixes[0].Fix; {
			case mine.Kind == fix.KindRebuild && theirs.Kind != fix.KindRebuild && covers(theirs, mine):
				theirs.Verified = false // for this cause
				c.Fixes = []result.CauseFix{{Fix: theirs, Clears: len(c.Findings)}}
			case j < i && planned[c.ID] && planned[d.ID] && mine.Command != theirs.Command:
				if both, ok := together(theirs, mine); ok {
					setFirst(r, c, both)
					setFirst(r, d, both)
				}
			}
		}
	}
}

// retags reports whether the first fix of a cause changes the tags of wheels.
func retags(c *result.Cause) bool { return len(c.Fixes) > 0 && c.Fixes[0].Retags != nil }

// covers reports whether a fix changes the tags of all wheels of another one.
func covers(x, other fix.Fix) bool {
	return !slices.ContainsFunc(other.Retags, func(r fix.Retagging) bool {
		return !slices.ContainsFunc(x.Retags, func(y fix.Retagging) bool {
			return y.Wheel.Same(r.Wheel)
		})
	})
}

// together returns one fix for two that change the tags of the same wheels.
func together(a, b fix.Fix) (fix.Fix, bool) {
	all, ok := fix.MergeRetags(a.Retags, b.Retags)
	if !ok || !covers(a, b) {
		return fix.Fix{}, false
	}
	a.Retags, a.Command = all, fix.RetagCommand(all)
	other := b.Title.String()
	if tags := fix.Part[fix.Tags](b.Title); tags != "" {
		other = string(tags)
	}
	a.Title = a.Title.Append(", and %s", other)
	a.Verified = a.Verified && b.Verified
	a.Cost = append(slices.Clone(a.Cost), b.Cost...)
	return a, true
}

// setFirst replaces the first fix of a cause, also in the plan.
func setFirst(r *result.Report, c *result.Cause, x fix.Fix) {
	for i := range r.Plan.Fixes {
		if p := &r.Plan.Fixes[i]; p.Cause == c.ID && p.Title.Equal(c.Fixes[0].Title) {
			p.Fix = x
		}
	}
	c.Fixes[0].Fix = x
}

// Sequence changes the commands of the causes so that those of the first fixes can be run one after
// the other: a command after one that changes the name or the place of a wheel has the new one.
// Alternatives of a fix are run instead of it, so they have the name from before. The command of
// the plan is run first, because all that it does was tried. fixed are the names of the wheels that
// it writes, by path of the artifact; nil if the plan has none.
func Sequence(r *result.Report, fixed map[string]string) {
	now := map[string]*wheelFile{}              // by path of the artifact
	seen := map[shellword.Line]shellword.Line{} // a command for several causes, and what it became
	if r.Plan.Command != "" {
		seen[r.Plan.Command] = r.Plan.Command
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		var files []*wheelFile
		for _, f := range c.Findings {
			a := r.Findings[f].Artifact
			if !strings.HasSuffix(a, ".whl") {
				continue
			}
			if now[a] == nil {
				now[a] = &wheelFile{original: path.Base(a), file: path.Base(a)}
				if name := shellword.Quote(shellword.File(path.Base(a))); fixed[a] != "" &&
					strings.Contains(string(r.Plan.Command), " "+string(name)) {
					now[a].file, now[a].folder = fixed[a], inFixed
				}
			}
			if !slices.Contains(files, now[a]) {
				files = append(files, now[a])
			}
		}
		planned := r.Plan.Command != "" && len(c.Fixes) > 0 &&
			(c.Fixes[0].Command == r.Plan.Command || slices.Contains(r.Plan.Tried, c.ID))
		for j := range c.Fixes {
			if j > 0 && planned && !c.Together { // it is run instead of the command of the plan
				break
			}
			x := c.Fixes[j].Fix
			command, ok := seen[x.Command]
			if !ok {
				command = x.Command
				for _, w := range files {
					x.Command = w.rename(x)
				}
				seen[command] = x.Command
			} else {
				x.Command = command
			}
			for n := range r.Plan.Fixes {
				// One with the command of the plan keeps it: its cause has what is written instead.
				if p := &r.Plan.Fixes[n]; j == 0 && p.Cause == c.ID && p.Title.Equal(x.Title) &&
					(r.Plan.Command == "" || p.Command != r.Plan.Command) {
					p.Fix = x
				}
			}
			c.Fixes[j].Fix = x
		}
		for j, x := range c.Fixes {
			for _, w := range files {
				if (j == 0 || c.Together) && x.Command != r.Plan.Command {
					w.run(x.Fix)
				}
			}
		}
	}
}

// wheelFile is the name and the place of a wheel after some commands.
type wheelFile struct {
	original, file string
	folder         shellword.Line // to which a command wrote a new wheel; "" if none did
	chosen         bool           // the command chose its tags
}

// name returns the file as a shell argument. It is a pattern if auditwheel chose the tags.
func (w *wheelFile) name() shellword.Line {
	switch {
	case w.chosen:
		parts := strings.SplitN(w.original, "-", 3)
		return w.folder + "/" + shellword.Quote(strings.Join(parts[:2], "-")+"-") + "*.whl"
	case w.folder != "":
		return w.folder + "/" + shellword.Quote(w.file)
	}
	return shellword.Quote(shellword.File(w.file))
}

// Folders of wheels.
const (
	wheelhouse shellword.Line = fix.Wheelhouse
	inFixed    shellword.Line = fix.Fixed
)

// rename returns the command of a fix for the file as it is now.
func (w *wheelFile) rename(x fix.Fix) shellword.Line {
	if w.folder == "" && w.file == w.original {
		return x.Command
	}
	if w.folder == inFixed { // to which nothing is written for a wheel in it
		x.Command = x.Command.Replace(fix.Write, fix.InPlace)
	}
	if len(x.Retags) == 1 { // "wheel tags" accepts what compat's commands wrote
		return x.Retags[0].Options() + " " + w.name()
	}
	original := shellword.Quote(shellword.File(w.original))
	var lines []shellword.Line
	for _, line := range shellword.Lines(x.Command) {
		var steps []shellword.Line
		for _, step := range shellword.Steps(line) {
			words := shellword.Words(step)
			if len(words) == 3 && words[0]+" " == fix.Move && words[2] == original {
				if w.chosen || w.file != w.original { // "wheel tags" and auditwheel sort the tags
					continue
				}
				step = fix.Move + w.folder + "/" + words[1] + " " + words[2]
			}
			steps = append(steps, step)
		}
		lines = append(lines, shellword.Join(steps, " && "))
	}
	command := shellword.Join(lines, "\n").Replace(original, w.name())
	if w.folder != "" {
		command = command.Replace(fix.PackWheel, fix.PackWheel+"-d "+w.folder+" ")
	}
	return command
}

// run records what the command of a fix does to the file.
func (w *wheelFile) run(x fix.Fix) {
	command := string(x.Command)
	for _, r := range x.Retags {
		if r.Wheel.File == w.original {
			w.file = fix.Retagging{Wheel: &fix.Wheel{File: w.file}, To: r.To}.File()
		}
	}
	if !strings.Contains(command, string(w.name())) {
		return
	}
	chooses := x.Bundling != nil && x.Bundling.With == fix.Auditwheel && !x.Bundling.KeepTags
	switch {
	case x.Bundling != nil && strings.Contains(command, "auditwheel repair "),
		strings.Contains(command, "delvewheel repair "):
		w.folder = wheelhouse
	case strings.Contains(command, string(fix.Write)):
		w.folder = inFixed
	case !strings.Contains(command, string(fix.InPlace)):
		return
	}
	w.chosen = w.chosen || chooses
}
