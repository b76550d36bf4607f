package webhook

import (
	"fmt"
	"slices"
)

// subjects are members of payloads that say what an event is about, with the events that have them.
// Only the body of a delivery is signed, not the header with its event.
var subjects = map[string][]string{
	"check_run":            {"check_run"},
	"check_suite":          {"check_suite"},
	"comment":              {"issue_comment", "pull_request_review_comment"},
	"deployment":           {"deployment_protection_rule"},
	"hook":                 {"ping"},
	"issue":                {"issue_comment"},
	"merge_group":          {"merge_group"},
	"pull_request":         {"pull_request", "pull_request_review_comment"},
	"pusher":               {"push"},
	"ref":                  {"push"},
	"release":              {"release"},
	"repositories_added":   {"installation_repositories"},
	"repositories_removed": {"installation_repositories"},
	"review":               nil,
	"workflow_job":         nil,
	"workflow_run":         {"workflow_run"},
	"zen":                  {"ping"},
}

// fits returns an error if a payload has a member that its event never has.
func fits(event string, members []string) error {
	for _, m := range members {
		events, is := subjects[m]
		ofAccount := m == "repository" &&
			(event == "installation" || event == "installation_repositories")
		if is && !slices.Contains(events, event) || ofAccount {
			return fmt.Errorf("the payload has %q, which the event %s never has", m, event)
		}
	}
	return nil
}
