package cause

import (
	"slices"

	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// action sets who has to act, a sentence about it, and whether the artifact may be shipped.
func (t *Text) action() {
	x := t.task()
	who := map[result.Actor]string{
		result.Builder:   "whoever builds " + t.What(),
		result.Installer: "whoever installs " + t.What(),
		result.Upstream:  "the author of " + t.subject,
	}[x.Actor]
	must := " should "
	if t.cause.Severity == result.Error {
		must = " has to "
	}
	c := t.cause
	c.Actor, c.Action, c.Ship = x.Actor, capital(who+must+x.Do+"."), t.ship(x)
	c.Do, c.Affected = x.Do, t.affected(x)
	if c.Affected != "" {
		c.Action += " Affected: " + c.Affected + "."
	}
	c.Undecided = t.undecided()
	if c.Severity == result.Error && !c.Undecided && !t.kind.NotShipped && !t.artifact.Misnamed() {
		c.Only, c.Unclaimed = x.Only, x.Unclaimed
		c.Excluded = x.Only != "" && !x.Unclaimed && t.excluded()
	}
}

// affected returns who sees the cause fail; "" if that is not known, or the sentence about shipping
// or Cause.Fails says it.
func (t *Text) affected(x Task) string {
	if t.kind.NotShipped || t.undecided() || x.Only != "" || x.Today != "" || x.Works != "" ||
		x.Because != "" {
		return ""
	}
	return x.Affected
}

// ship says whether the artifact may be shipped. Of an error it never says that it may.
func (t *Text) ship(x Task) string {
	what := "file"
	if t.artifact.wheel() {
		what = "wheel"
	}
	switch {
	case t.artifact.Misnamed():
		return "Do not ship this wheel: pip does not install a file of this name."
	case t.kind.NotShipped:
		return ""
	case t.undecided():
		return "Whether this " + what + " may be shipped is not known: " + t.why() + t.toKnow() + "."
	case t.cause.Severity == result.Error && x.Unclaimed:
		return "Not for " + x.Only + ": pip does not install this " + what +
			" there, since no tag claims it."
	case t.cause.Severity == result.Error && x.Only != "" && t.excluded():
		return "Not for " + x.Only + "."
	case t.cause.Severity == result.Error && x.Only != "":
		return "Do not ship this " + what + " for " + x.Only + "."
	case t.cause.Severity == result.Error && x.Today != "":
		return "Do not ship this " + what + ": " + x.Today + "."
	case t.cause.Severity == result.Error:
		return "Do not ship this " + what + "."
	case x.Because != "":
		return "The " + what + " itself may be shipped; " + x.Because + "."
	case x.Works != "":
		return "This " + what + " may be shipped, since it works with " + x.Works + "."
	case t.promised():
		return "By its tag, pip also installs this wheel where it fails: correct the tag before you " +
			"publish it."
	}
	return "This " + what + " may be shipped" + t.onDistributions() + ", but should be improved."
}

// onDistributions names the targets after what is true of only these; see distributions.
func (t *Text) onDistributions() string {
	if on := t.distributions(); on != "" {
		return " for " + on
	}
	return ""
}

// distributions names the targets if all are distributions; "" if one is that of a tag.
func (t *Text) distributions() string {
	var names set[string]
	for _, x := range t.report.Targets {
		p, err := platform.Lookup(x.Name, platform.Architecture(x.Name))
		if err != nil || p.Kind != platform.Distribution {
			return ""
		}
		names.add(platform.Title(x.Name))
	}
	if names.list == nil {
		return ""
	}
	return Listed(names.list, 3, 40, "platform")
}

// undecided reports whether it is not known if the artifact may be shipped: what is missing may be
// in a package that could not be looked up, or only warnings were found and not everything was
// read.
func (t *Text) undecided() bool {
	return t.unknown() ||
		t.cause.Severity != result.Error && !t.report.Complete(t.artifact.Path)
}

// why says what is missing for an answer, after a colon.
func (t *Text) why() string {
	switch {
	case t.refusedByPip():
		return "it was checked with versions that it does not allow"
	case t.unknown():
		return "what it needs may be in a package that could not be looked up"
	}
	return "not everything was read"
}

// toKnow says how to find out whether the artifact may be shipped, after the reason why it is not
// known; "" if the report says it where it names what was not read.
func (t *Text) toKnow() string {
	switch {
	case len(t.report.Refused) > 0:
		return " (compat check " + string(shellword.Quote(shellword.File(base(t.artifact.Path)))) +
			" checks it with the versions that it requires)"
	case t.unknown():
		return " (name an index: --index-url or PIP_INDEX_URL)"
	}
	return ""
}

// promised reports whether the artifact fails only on the platform of a tag, and the user named
// others.
func (t *Text) promised() bool {
	return t.artifact.wheel() && !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		return f.Target == "" || slices.ContainsFunc(t.report.Targets, func(x result.Target) bool {
			return x.Name == f.Target
		})
	})
}

// Unclaimed says that no tag of the wheel names the target, for Task.Because.
func (t *Text) Unclaimed() string { return "its tags do not claim " + t.target() }

// OnUnclaimed are the targets, which no tag of the wheel names, for Task.Only with Task.Unclaimed.
func (t *Text) OnUnclaimed() string {
	var names set[string]
	for _, f := range t.all {
		if f.Target != "" {
			names.add(platform.Title(f.Target))
		}
	}
	if names.list == nil {
		names.add(t.target())
	}
	return Listed(names.list, 3, 40, "platform")
}

// refusedByPip reports whether the artifact requires another version than the one that was checked.
func (t *Text) refusedByPip() bool {
	return len(t.cause.Fixes) > 0 && t.cause.Fixes[0].Required
}

// severityReason says why the cause has its severity, as a clause; "" if not all findings of this
// severity say the same. Of a warning that is not said by its kind or by all findings, it is what
// its rule says.
func (t *Text) severityReason() string {
	if t.kind.Why != nil {
		if why := t.kind.Why(t); why != "" {
			return why
		}
	}
	var reasons, warns set[string]
	for _, f := range t.all {
		if f.Severity == t.cause.Severity {
			reasons.add(f.Why)
			warns.add(t.rules[f.Rule].Warns)
		}
	}
	switch {
	case len(reasons.list) == 1 && reasons.list[0] != "":
		return reasons.list[0]
	case t.cause.Severity == result.Warning:
		return warns.list[0]
	}
	return ""
}

// excluded reports whether the artifact does not allow the versions that it fails with, so that pip
// does not install them together.
func (t *Text) excluded() bool { return t.kind == otherVersions || t.refusedByPip() }

// What is the project of a wheel, or the name of another artifact.
func (t *Text) What() string {
	if t.artifact.wheel() {
		return t.artifact.own
	}
	return base(t.artifact.Path)
}
