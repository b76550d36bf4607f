package webhook

import "github.com/compat-app/compat/internal/job"

type mergeGroupPayload struct {
	MergeGroup struct {
		HeadSHA string `json:"head_sha"`
		HeadRef string `json:"head_ref"`
		BaseSHA string `json:"base_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
}

// mergeGroup: the merge queue waits for a check of the same name on the group's head.
func mergeGroup(e envelope, p *mergeGroupPayload) (decision, error) {
	if e.Action != "checks_requested" && e.Action != "destroyed" {
		return e.unused()
	}
	g := &p.MergeGroup
	return one(e.job(&job.MergeGroup{
		Repository: e.Repository.ID,
		SHA:        g.HeadSHA,
		HeadRef:    g.HeadRef,
		BaseRef:    g.BaseRef,
		BaseSHA:    g.BaseSHA,
		Destroyed:  e.Action == "destroyed",
	}, g.HeadSHA))
}
