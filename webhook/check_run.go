package webhook

import (
	"strconv"
	"strings"
)

// checkName is the name of this App's check runs.
const checkName = "compat"

// checkRun: somebody pressed Re-run, or one of our buttons, on a check run of ours. Or a check run
// is concluded: of another App, under our name.
func checkRun(e envelope, body []byte) (decision, error) {
	switch e.Action {
	case "rerequested", "requested_action":
	case "created", "completed":
		return namesake(e, body)
	default:
		return e.unused()
	}
	var p struct {
		CheckRun struct {
			HeadSHA      string `json:"head_sha"`
			ExternalID   string `json:"external_id"`
			App          struct{ ID int64 }
			PullRequests []pull `json:"pull_requests"`
		} `json:"check_run"`
		RequestedAction struct{ Identifier string } `json:"requested_action"`
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	k := p.CheckRun
	if e.app != 0 && k.App.ID != e.app {
		return ignore("the check run is another App's")
	}
	if e.Action == "requested_action" {
		return button(e, p.RequestedAction.Identifier, k.ExternalID, k.HeadSHA)
	}
	// The run's external id is this App's own note of the subject; GitHub's list of pull requests
	// is empty for forks.
	if kind, key, ok := subjectOf(k.ExternalID, e.Repository.ID); ok {
		return one(e.again(kind, key, k.HeadSHA))
	}
	if d, err := e.pulls(k.PullRequests, k.HeadSHA, e.guid); err != nil || len(d.jobs) > 0 {
		return d, err
	}
	return one(e.commitJob(k.HeadSHA, e.guid, commitPayload{}))
}

// subjectOf reads the subject from an external id: "KEY@SHA#…" as the worker writes it.
func subjectOf(external string, repository int64) (kind, key string, ok bool) {
	key, _, ok = strings.Cut(external, "@")
	parts := strings.Split(key, "/")
	if !ok || len(parts) != 3 || parts[1] != strconv.FormatInt(repository, 10) {
		return "", "", false
	}
	switch parts[0] {
	case "pull", "release":
		n, err := strconv.ParseInt(parts[2], 10, 64)
		return parts[0], key, err == nil && n > 0
	case "merge_group":
		return parts[0], key, hexadecimal(parts[2])
	}
	return "", "", false
}

// namesake tells of a check run of another App that has our name and passes: a branch whose
// required check names no App takes it for ours. A job of GitHub Actions that is called so is
// enough.
func namesake(e envelope, body []byte) (decision, error) {
	var p struct {
		CheckRun struct {
			Name, Conclusion string
			HeadSHA          string `json:"head_sha"`
			App              struct {
				ID   int64
				Slug string
			}
		} `json:"check_run"`
		Repository struct {
			FullName string `json:"full_name"`
		}
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	k := p.CheckRun
	passes := k.Conclusion == "success" || k.Conclusion == "neutral" || k.Conclusion == "skipped"
	if e.app == 0 || k.App.ID == e.app || k.Name != checkName || !passes {
		return e.unused()
	}
	d, err := ignore(
		"the App %.60q has concluded a check run named %s on %.64q of %.140q as %s: it passes for this App's wherever the required check names no App (docs/install.md)",
		k.App.Slug,
		checkName,
		k.HeadSHA,
		p.Repository.FullName,
		k.Conclusion,
	)
	d.namesake = true
	return d, err
}
