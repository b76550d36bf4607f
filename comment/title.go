package comment

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/mdsafe"
)

// title returns the first cause and the number of others: "warp-lang 1.6.2: tagged manylinux2014,
// but needs manylinux_2_31 (and 2 more causes)".
func title(in Input, v view) string {
	var t string
	r := v.report
	switch {
	case len(v.fresh) > 0:
		t = v.headline(v.fresh[0])
		if n := len(v.fresh) - 1; n > 0 {
			t += " (and " + analyzer.Count(n, "more cause") + ")"
		}
		if len(v.unread) > 0 {
			t += "; " + analyzer.Count(analyzer.Files(v.unread), "file") + " not read"
		}
	case len(v.unread) > 0:
		t = "Could not read " + mdsafe.Plain(v.unread[0].Path, 80) + ": " +
			mdsafe.Plain(v.unread[0].Reason, 100)
		if n := analyzer.Files(v.unread) - 1; n > 0 {
			t += " (and " + analyzer.Count(n, "more file") + ")"
		}
	case len(in.Missing) > 0:
		t = "Could not check everything: " + missingTitle(in.Missing, base(in))
	case r.Verdict == analyzer.Unchecked:
		t = "Could not check everything"
		if len(r.Notes) > 0 {
			t += ": " + mdsafe.Plain(r.Notes[0], 180)
		}
	case len(v.existing) > 0:
		t = "Nothing new; already on " + base(in) + ": " + v.headline(v.existing[0])
		if n := len(v.existing) - 1; n > 0 {
			t += " (and " + analyzer.Count(n, "more cause") + ")"
		}
	case len(v.accepted) > 0:
		t = "Compatible; " + analyzer.Count(len(v.accepted), "accepted finding")
	case r.Verdict == analyzer.NotJudged && len(r.Skipped) > 0:
		t = "Nothing to check: " + analyzer.Count(len(r.Skipped), "file") +
			" of types that compat does not read"
	case r.Verdict == analyzer.NotJudged:
		t = "Nothing to check: no shared library in " + analyzer.Count(len(r.Artifacts), "artifact")
	default:
		t = "Compatible: " + analyzer.Count(objects(r), "binary file") + " in " +
			analyzer.Count(len(r.Artifacts), "artifact")
		if names := targetNames(r); len(names) == 1 {
			t += ", on " + mdsafe.Plain(names[0], 60)
		} else if len(names) > 1 {
			t += ", on " + analyzer.Count(len(names), "platform")
		}
		if judged, ok := r.Judged(); ok && judged.Except() != "" {
			t += "; " + mdsafe.Plain(judged.Except(), 120)
		}
	}
	return mdsafe.Cut(t, MaxTitle)
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
		names = append(names, platform.Title(t.Name))
	}
	return distinct(names)
}
