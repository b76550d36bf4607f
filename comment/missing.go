package comment

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Missing is something that the base branch has and the head does not: an artifact of a workflow, a
// workflow that the configuration names, or a kind of wheel in an artifact.
type Missing struct {
	Name     string // as in /compat accept missing NAME
	Workflow string // path of the workflow that should have uploaded it; "" = Name is a workflow
	// Artifact is the artifact that is there without it; Name = without native code; "" = Name is not
	// a kind of content.
	Artifact string
	// Pure means that the wheel, or all wheels of the artifact if that is Name, are there without
	// native code.
	Pure bool
	// Run is the conclusion of the workflow's newest run for this commit, or its status if it has not
	// ended; "" = the workflow has not run.
	Run string
}

// AcceptedMissing is something missing that a person accepted.
type AcceptedMissing struct {
	Name    string
	Because string
	By      string // login and date
	Until   string // YYYY-MM-DD; "" = without end
}

// sentence says what is missing and why.
func (m Missing) sentence() string {
	workflow := mdsafe.Code(path.Base(m.Workflow), 100)
	switch {
	case m.Workflow == "":
		return "the workflow has not run for this commit"
	case m.Pure && m.Artifact == m.Name:
		return "the artifact of " + workflow + " has no wheel with native code"
	case m.Pure:
		return fmt.Sprintf("the wheel in %s of %s contains no native code",
			mdsafe.Code(m.Artifact, 100), workflow)
	case m.Artifact == m.Name:
		return "the artifact of " + workflow + " contains no native code"
	case m.Artifact != "":
		return fmt.Sprintf("the artifact %s of %s is there without it", mdsafe.Code(m.Artifact, 100),
			workflow)
	case m.Run == "":
		return workflow + " has not run for this commit"
	case m.Run == "success":
		return workflow + " has ended for this commit without uploading it"
	case m.Run == "failure":
		return workflow + " has failed for this commit"
	case m.Run == "cancelled", m.Run == "skipped":
		return workflow + " was " + m.Run + " for this commit"
	case m.Run == "timed_out":
		return workflow + " has timed out for this commit"
	}
	return workflow + " is " + mdsafe.Prose(strings.ReplaceAll(m.Run, "_", " ")) + " for this commit"
}

// missingTitle returns the first missing thing and the number of others. base is the name of the
// base branch.
func missingTitle(all []Missing, base string) string {
	what := mdsafe.Plain(all[0].Name, 80)
	if all[0].Workflow == "" {
		what = "the workflow " + what + " has not run"
	} else {
		what = base + " has " + what + ", this commit does not"
	}
	if n := len(all) - 1; n > 0 {
		what += fmt.Sprintf(" (and %d more missing)", n)
	}
	return what
}

// missingList lists what is missing, and how to accept it.
func missingList(all []Missing) string {
	var lines []string
	for _, m := range all {
		lines = append(lines, "- "+mdsafe.Code(m.Name, 200)+": "+m.sentence()+"\n")
	}
	list := section("\n### Missing\n\nThis commit lacks what the base branch has or its "+
		"configuration names, so this check fails:\n\n", lines, listBytes)
	if list == "" {
		return ""
	}
	return list + fmt.Sprintf("\nIf a workflow failed or did not start, run it again. If something "+
		"was removed on purpose, a person with write access comments %s. If no pull request has it, "+
		"list the artifacts to check as %s in %s on the base branch.\n",
		mdsafe.Code("/compat accept missing "+all[0].Name+" because REASON", 300),
		mdsafe.Code("artifacts", 0), mdsafe.Code(ConfigPath, 0))
}

// acceptedMissingList lists what is missing and was accepted.
func acceptedMissingList(all []AcceptedMissing) string {
	var lines []string
	for _, a := range all {
		l := fmt.Sprintf("- accepted that %s is missing because %s (%s", mdsafe.Code(a.Name, 200),
			mdsafe.Code(a.Because, 300), mdsafe.Code(strings.TrimPrefix(a.By, "@"), 80))
		if a.Until != "" {
			l += ", until " + mdsafe.Code(a.Until, 40)
		}
		lines = append(lines, l+")\n")
	}
	return section("\n### Accepted as missing\n\n", lines, acceptedMore)
}

// unselectedList lists the artifacts that the configuration does not select.
func unselectedList(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s of this commit %s not selected by %s in %s, so not checked: %s.\n",
		analyzer.Count(len(names), "artifact"), isOrAre(len(names)), mdsafe.Code("artifacts", 0),
		mdsafe.Code(ConfigPath, 0), mdsafe.Codes(names, 20, 100))
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
