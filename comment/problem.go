package comment

import (
	"fmt"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Problem is the reason why there is no report, and is shown instead. Its texts are escaped; use
// the functions below to make one.
type Problem struct {
	Conclusion  string
	Title       string // plain text
	Summary     string // Markdown
	Annotations []Annotation
	Silent      bool // do not update the summary comment
	NoRecheck   bool // a re-check would not help
}

// ConfigPath is the path of a repository's configuration.
const ConfigPath = ".github/compat.yml"

// ConfigError is an error in a repository's configuration.
type ConfigError struct {
	Line    int // from 1; 0 = unknown
	Key     string
	Message string
}

// ConfigInvalid reports an invalid configuration. path is that on the base branch, or has the
// prefix "REPOSITORY:" for another repository. headLines is the number of lines of the file at
// the head; 0 = it does not exist there, so there are no annotations.
func ConfigInvalid(path string, errs []ConfigError, headLines int) *Problem {
	const most = 50
	p := &Problem{Conclusion: "action_required", NoRecheck: false}
	var b strings.Builder
	source, correct := "The configuration on the base branch", "Fix it on the base branch"
	if owner, _, other := strings.Cut(path, ":"); other {
		source, correct = "The configuration of "+mdsafe.Code(
			owner,
			200,
		)+" for all repositories", "Fix it there"
	}
	fmt.Fprintf(&b, "%s is invalid, so nothing was checked.\n\n", source)
	for i, e := range errs {
		if i == most {
			fmt.Fprintf(&b, "- and %d more\n", len(errs)-most)
			break
		}
		where := path
		if e.Line > 0 {
			where = fmt.Sprintf("%s:%d", path, e.Line)
		}
		fmt.Fprintf(&b, "- %s", mdsafe.Code(where, 200))
		if e.Key != "" {
			fmt.Fprintf(&b, ", key %s", mdsafe.Code(e.Key, 100))
		}
		message := mdsafe.Prose(mdsafe.Cut(e.Message, 1000), e.Key)
		fmt.Fprintf(&b, ": %s\n", message)
		if headLines > 0 {
			line := min(max(e.Line, 1), headLines)
			p.Annotations = append(
				p.Annotations,
				Annotation{Path: path, StartLine: line, EndLine: line, Level: LevelFailure,
					Title: mdsafe.Plain("compat: configuration", MaxTitle), Message: message},
			)
		}
	}
	b.WriteString("\n" + correct + ", then press Re-check.\n")
	p.Summary = b.String()
	p.Title = "The configuration is invalid"
	if len(errs) > 0 {
		e := errs[0]
		what := e.Key
		if what == "" {
			what = e.Message
		}
		p.Title = fmt.Sprintf("%s is invalid: %s", path, mdsafe.Plain(what, 120))
		if e.Line > 0 {
			p.Title = fmt.Sprintf("%s is invalid at line %d: %s", path, e.Line, mdsafe.Plain(what, 120))
		}
	}
	return p
}

// Unjudged reports artifacts that cannot be checked: expired, unreadable, too large, or with a
// wrong digest. reason is a sentence without a period, such as "the artifact has expired".
func Unjudged(name, reason string) *Problem {
	p := &Problem{Conclusion: "failure", Title: "Could not check: " + mdsafe.Plain(reason, 180)}
	if name != "" {
		p.Summary = fmt.Sprintf(
			"Could not check %s: %s.\n",
			mdsafe.Code(name, 200),
			mdsafe.Prose(reason, name),
		)
	} else {
		p.Summary = fmt.Sprintf("Could not check: %s.\n", mdsafe.Prose(reason))
	}
	p.Summary += "\nNothing was checked, so this check fails.\n"
	return p
}

// Deadline reports that there were no artifacts within the wait. waiting is a trusted clause
// about the reason: "no workflow run of this commit has uploaded an artifact".
func Deadline(wait time.Duration, waiting string) *Problem {
	return &Problem{Conclusion: "failure",
		Title: fmt.Sprintf("Could not check: no artifacts after %s", span(wait)),
		Summary: fmt.Sprintf(
			"compat waited %s: %s. Nothing was checked, so this check fails.\n\n"+
				"compat reads the artifacts that workflows upload with %s. If a run of this commit ends "+
				"later, this check is updated.\n",
			span(wait),
			mdsafe.Prose(waiting),
			mdsafe.Code("actions/upload-artifact", 0),
		)}
}

// NoArtifacts reports that all workflow runs have completed without artifacts. want are the
// configured artifact name patterns.
func NoArtifacts(want []string) *Problem {
	p := &Problem{
		Conclusion: "failure",
		Title:      "Could not check: no workflow run uploaded an artifact",
		Summary: "All workflow runs of this commit have ended, and none uploaded an artifact that " +
			"compat can check. This check fails.\n",
	}
	if len(want) > 0 {
		p.Summary += fmt.Sprintf(
			"\nThe configuration selects the artifacts named %s.\n",
			mdsafe.Codes(want, 10, 100),
		)
	}
	return p
}

// NothingToCheck concludes a release without assets.
func NothingToCheck() *Problem {
	return &Problem{Conclusion: "neutral", Title: "Nothing to check: the release has no assets",
		Summary: "The release has no assets, so there was nothing to check.\n"}
}

// NothingChanged concludes a change that needs no artifacts. reason is a trusted sentence.
func NothingChanged(reason string) *Problem {
	return &Problem{
		Conclusion: "success",
		Title:      "Nothing to check",
		Summary:    "Nothing to check. " + mdsafe.Prose(reason) + "\n",
	}
}

// NothingLeft concludes a change that removes all artifacts, which a person accepted.
func NothingLeft() *Problem {
	return &Problem{
		Conclusion: "success",
		Title:      "Nothing to check: that there are no artifacts was accepted",
		Summary: "No workflow run uploaded an artifact, and everything that the base branch has was " +
			"accepted as missing.\n",
	}
}

// Superseded cancels the check of a head that was replaced by a newer one.
func Superseded() *Problem {
	return &Problem{
		Conclusion: "cancelled",
		Title:      "Superseded by a newer commit",
		Silent:     true,
		NoRecheck:  true,
		Summary:    "A newer commit was pushed; it has its own check.\n",
	}
}

// Failed reports an internal failure. reason is for the PR author, without internals.
func Failed(reason string) *Problem {
	return &Problem{Conclusion: "failure", Title: "Could not check: " + mdsafe.Plain(reason, 180),
		Summary: fmt.Sprintf(
			"Could not check: %s.\n\nNothing was checked, so this check fails. Press Re-check to try "+
				"again.\n",
			mdsafe.Prose(reason),
		)}
}

// span formats a duration without zero parts: "6 hours", "90 seconds".
func span(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return analyzer.Count(int(d/time.Hour), "hour")
	case d >= 2*time.Minute && d%time.Minute == 0:
		return analyzer.Count(int(d/time.Minute), "minute")
	}
	return analyzer.Count(int(d.Round(time.Second)/time.Second), "second")
}
