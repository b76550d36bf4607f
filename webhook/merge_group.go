package webhook

import "fmt"

type mergeGroupPayload struct {
	HeadRef   string `json:"head_ref,omitempty"`
	BaseRef   string `json:"base_ref,omitempty"`
	BaseSHA   string `json:"base_sha,omitempty"`
	Destroyed bool   `json:"destroyed,omitempty"` // the group is gone: nobody waits for its check any more
}

// mergeGroup: the merge queue waits for a check of the same name on the group's head.
func mergeGroup(e envelope, body []byte) (decision, error) {
	if e.Action != "checks_requested" && e.Action != "destroyed" {
		return e.unused()
	}
	var p struct {
		MergeGroup struct {
			HeadSHA string `json:"head_sha"`
			HeadRef string `json:"head_ref"`
			BaseSHA string `json:"base_sha"`
			BaseRef string `json:"base_ref"`
		} `json:"merge_group"`
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	g := p.MergeGroup
	return one(
		e.subject(
			"merge_group",
			fmt.Sprintf("merge_group/%d/%s", e.Repository.ID, g.HeadSHA),
			g.HeadSHA,
			mergeGroupPayload{
				HeadRef:   g.HeadRef,
				BaseRef:   g.BaseRef,
				BaseSHA:   g.BaseSHA,
				Destroyed: e.Action == "destroyed",
			},
		),
	)
}
