package webhook

import (
	"strconv"
	"strings"
)

// checkRun: somebody pressed Re-run, or one of our buttons, on a check run of ours.
func checkRun(e envelope, body []byte) (decision, error) {
	if e.Action != "rerequested" && e.Action != "requested_action" {
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
	// The run's external id is this App's own note of the subject; GitHub's list of pull requests is empty for forks.
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
