package openapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// All operations of githubtest are in the description. If this fails, run trim.go.
func TestEveryOperationIsDescribed(t *testing.T) {
	for _, op := range githubtest.Operations() {
		r, err := http.NewRequest(op.Method, "http://github.test"+op.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Pattern = op.Method + " " + op.Path
		if err := Validate(r, nil); err != nil &&
			strings.Contains(err.Error(), "has no "+op.Method) {
			t.Errorf("%v; run go generate", err)
		}
	}
}

func TestUnknownQueryParameter(t *testing.T) {
	r, _ := http.NewRequest("GET", "http://github.test/repos/o/r/pulls?haed=x", nil)
	r.Pattern = "GET /repos/{owner}/{repo}/pulls"
	r.SetPathValue("owner", "o")
	r.SetPathValue("repo", "r")
	if err := Validate(r, nil); err == nil || !strings.Contains(err.Error(), `"haed"`) {
		t.Errorf("%v, want the parameter named", err)
	}
}
