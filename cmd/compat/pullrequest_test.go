package main

import "testing"

func TestInPullRequest(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"a desk":          {nil, false},
		"a push":          {map[string]string{"GITHUB_EVENT_NAME": "push"}, false},
		"a build by hand": {map[string]string{"BUILD_REASON": "Manual"}, false},
		"GitHub":          {map[string]string{"GITHUB_EVENT_NAME": "pull_request"}, true},
		"from a fork":     {map[string]string{"GITHUB_EVENT_NAME": "pull_request_target"}, true},
		"GitLab":          {map[string]string{"CI_MERGE_REQUEST_IID": "7"}, true},
		"Azure Pipelines": {map[string]string{"BUILD_REASON": "PullRequest"}, true},
		"Jenkins":         {map[string]string{"CHANGE_ID": "7"}, true},
	} {
		env := environment{Getenv: func(name string) (string, bool) {
			value, ok := c.env[name]
			return value, ok
		}}
		if got := inPullRequest(env); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
