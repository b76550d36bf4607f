package webhook

import (
	"strings"

	"github.com/compat-app/compat/internal/queue"
)

// again makes the job of a subject that a person wants judged once more.
func (e envelope) again(kind, key, sha string) (queue.Job, error) {
	var payload any = map[string]any{}
	if kind == "merge_group" {
		sha = key[strings.LastIndex(key, "/")+1:]
		payload = mergeGroupPayload{}
	}
	j, err := e.subject(kind, key, sha, payload)
	j.Nonce = e.guid
	return j, err
}
