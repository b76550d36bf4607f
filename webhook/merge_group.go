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

// mergeGroup checks the head of a merge group, which needs a check run of the same name.
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
