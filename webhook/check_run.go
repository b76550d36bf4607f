package webhook

import "github.com/compat-app/compat/internal/job"

// checkName is the name of this App's check runs.
const checkName = "compat"

type checkRunPayload struct {
	CheckRun struct {
		Name, Conclusion string
		HeadSHA          string `json:"head_sha"`
		ExternalID       string `json:"external_id"`
		App              struct {
			ID   int64
			Slug string
		}
		PullRequests []pull `json:"pull_requests"`
	} `json:"check_run"`
	RequestedAction struct{ Identifier string } `json:"requested_action"`
	Repository      struct {
		FullName string `json:"full_name"`
	}
}

// checkRun handles Re-run and the App's buttons on its own check runs, and reports completed
// check runs of other Apps with the same name.
func checkRun(e envelope, p *checkRunPayload) (decision, error) {
	k := &p.CheckRun
	switch e.Action {
	case "rerequested", "requested_action":
	case "created", "completed":
		return namesake(e, p)
	default:
		return e.unused()
	}
	if e.app != 0 && k.App.ID != e.app {
		return ignore("the check run belongs to another App")
	}
	if e.Action == "requested_action" {
		return checkAction(e, p.RequestedAction.Identifier, k.ExternalID, k.HeadSHA)
	}
	// GitHub's list of pull requests is empty for forks.
	if b, ok := job.ParseExternal(k.ExternalID, e.Repository.ID); ok {
		sha := k.HeadSHA
		if g, is := b.(*job.MergeGroup); is {
			sha = g.SHA
		}
		d, err := request(e.rerun(b, sha))
		d.rerunBy = e.Sender.Login
		return d, err
	}
	return e.rerunPulls(k.PullRequests, k.HeadSHA)
}

// namesake reports a passing check run of another App with the name of this App's. Branch
// protection accepts it if the required check is not bound to an App. A job of GitHub Actions
// with that name is enough.
func namesake(e envelope, p *checkRunPayload) (decision, error) {
	k := &p.CheckRun
	passes := k.Conclusion == "success" || k.Conclusion == "neutral" || k.Conclusion == "skipped"
	if e.app == 0 || k.App.ID == e.app || k.Name != checkName || !passes {
		return e.unused()
	}
	d, err := ignore(
		"the App %.60q has completed a check run named %s on %.64q of %.140q with %s: "+
			"branch protection accepts it if the required check is not bound to an App (docs/install.md)",
		k.App.Slug,
		checkName,
		k.HeadSHA,
		p.Repository.FullName,
		k.Conclusion,
	)
	d.namesake = true
	return d, err
}
