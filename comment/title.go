package comment

import (
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// title names the worst finding and counts the rest: "warp.so needs pow@GLIBC_2.29, newer than
// manylinux_2_17_x86_64 (2 errors)".
func title(in Input, s sorted) string {
	var t string
	switch {
	case len(s.fresh) > 0:
		t = headline(s.fresh[0]) + " (" + counts(s.fresh) + ")"
		if len(s.unread) > 0 {
			t += "; " + count(analyzer.Files(s.unread), "file") + " not read"
		}
	case len(s.unread) > 0:
		t = "Could not read " + mdsafe.Plain(
			s.unread[0].Path,
			80,
		) + ": " + mdsafe.Plain(
			s.unread[0].Reason,
			100,
		)
		if n := analyzer.Files(s.unread) - 1; n > 0 {
			t += " (and " + count(n, "more file") + ")"
		}
	case in.Report.Verdict == analyzer.Unchecked:
		t = "Could not check everything"
		if len(in.Report.Notes) > 0 {
			t += ": " + mdsafe.Plain(in.Report.Notes[0], 180)
		}
	case len(s.existing) > 0:
		t = "Nothing new; already on " + base(
			in,
		) + ": " + headline(
			s.existing[0],
		) + " (" + counts(
			s.existing,
		) + ")"
	case len(s.accepted) > 0:
		t = "Compatible; accepted: " + headline(&s.accepted[0].Finding)
		if n := len(s.accepted) - 1; n > 0 {
			t += " and " + count(n, "more finding")
		}
	case objects(in.Report) == 0 && len(in.Report.Skipped) > 0:
		t = "Nothing to judge: " + count(
			len(in.Report.Skipped),
			"file",
		) + " of kinds that compat does not judge"
	case objects(in.Report) == 0:
		t = "Nothing to judge: no shared library in " + count(len(in.Report.Artifacts), "artifact")
	default:
		t = "Compatible: " + count(
			objects(in.Report),
			"object",
		) + " in " + count(
			len(in.Report.Artifacts),
			"artifact",
		)
		if names := targetNames(in.Report); len(names) == 1 {
			t += ", on " + mdsafe.Plain(names[0], 60)
		} else if len(names) > 1 {
			t += ", on " + count(len(names), "target")
		}
	}
	return mdsafe.Cut(t, MaxTitle)
}

// headline says a finding in a few words, from its facts: a message may be longer than a title.
func headline(f *analyzer.Finding) string {
	name := path.Base(f.Object)
	if f.Object == "" {
		name = path.Base(f.Artifact)
	}
	obj := mdsafe.Plain(name, 80)
	target := mdsafe.Plain(f.Target, 50)
	what := mdsafe.Plain(f.Symbol, 80)
	if what == "" {
		what = mdsafe.Plain(f.Library, 60)
	}
	switch {
	case what == "":
		what = mdsafe.Plain(f.Version, 40)
	case f.Version != "":
		what = mdsafe.Plain(
			what+"@"+mdsafe.Plain(f.Version, 40),
			0,
		) // of the whole: "x)@octocat" mentions, "x@octocat" doesn't
	}
	switch {
	case what == "":
		return obj + ": " + mdsafe.Plain(f.Message, 150)
	case f.Rule == "symbol-version-too-new" && target != "":
		return obj + " needs " + what + ", newer than " + target
	}
	line := obj + ": " + what + ", " + strings.ReplaceAll(f.Rule, "-", " ")
	if target != "" {
		line += " on " + target
	}
	return line
}

// counts says "2 errors, 1 warning".
func counts(fs []*analyzer.Finding) string {
	e, w, n := tally(fs)
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{e, "error"}, {w, "warning"}, {n, "note"}} {
		if c.n > 0 {
			parts = append(parts, count(c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

func base(in Input) string {
	if in.BaseName == "" {
		return "the base branch"
	}
	return mdsafe.Plain(in.BaseName, 40)
}

func objects(r *analyzer.Report) int {
	n := 0
	for _, a := range r.Artifacts {
		n += a.Objects
	}
	return n
}

func targetNames(r *analyzer.Report) []string {
	var names []string
	for _, t := range r.Targets {
		names = append(names, t.Name)
	}
	return distinct(names)
}
