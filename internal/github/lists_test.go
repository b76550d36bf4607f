package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// paged serves total entries made by entry, a hundred a page, in a field or as a plain list.
func paged(h *hub, field string, total int, entry func(i int) map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if r.URL.Query().Get("per_page") != "100" || page < 1 {
			h.t.Errorf("query %s", r.URL.RawQuery)
		}
		list := []any{}
		for i := (page - 1) * 100; i < min(total, page*100); i++ {
			list = append(list, entry(i))
		}
		if page*100 < total {
			w.Header().
				Set("Link", fmt.Sprintf(`<%s%s?page=%d>; rel="next"`, "https://elsewhere.example", r.URL.Path,
					page+1))
		}
		if field == "" {
			answer(w, 200, list)
			return
		}
		answer(w, 200, map[string]any{"total_count": total, field: list})
	}
}

func TestArtifactsAllPages(t *testing.T) {
	h := newHub(t)
	h.handle = paged(h, "artifacts", 250, func(i int) map[string]any {
		return map[string]any{
			"id":                   1 + i/2*2,
			"name":                 "a",
			"size_in_bytes":        5,
			"digest":               "sha256:aa",
			"expired":              i == 249,
			"archive_download_url": "https://evil.example/zip",
			"workflow_run": map[string]any{
				"id":                 9,
				"head_sha":           "abc",
				"head_repository_id": 77,
				"head_branch":        "main",
			},
		}
	})
	list, err := h.client().Artifacts(t.Context(), "o", "r", 9)
	if err != nil || len(list) != 125 {
		t.Fatalf("%d, %v", len(list), err)
	}
	a := list[124]
	if a.ID != 249 || a.Digest != "sha256:aa" || a.HeadSHA != "abc" || a.HeadRepository != 77 ||
		a.Run != 9 ||
		a.HeadBranch != "main" ||
		a.Size != 5 {
		t.Errorf("%+v", a)
	}
	if want := h.api.URL + "/repos/o/r/actions/artifacts/249/zip"; a.URL != want {
		t.Errorf("URL %s, want %s", a.URL, want)
	}
}

func TestListsEnd(t *testing.T) {
	h := newHub(t)
	h.handle = paged(h, "", 100_000, func(i int) map[string]any {
		return map[string]any{
			"id":     i + 1,
			"name":   "x.whl",
			"state":  "uploaded",
			"size":   3,
			"digest": nil,
		}
	})
	list, err := h.client().Assets(t.Context(), "o", "r", 4)
	if !errors.Is(err, ErrTooMany) || len(list) != perPage*mostPages || len(h.calls) != mostPages ||
		list[7].URL != h.api.URL+"/repos/o/r/releases/assets/8" {
		t.Errorf("%d entries after %d calls, %v", len(list), len(h.calls), err)
	}
}

func TestInvalidLists(t *testing.T) {
	for _, body := range []string{`[]`, `{"artifacts":3}`, `{"artifacts":[{"id":"x"}]}`, `<html>`} {
		h := newHub(t)
		h.handle = func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, body) }
		if list, err := h.client().Artifacts(t.Context(), "o", "r", 9); err == nil ||
			len(list) > 1 {
			t.Errorf("%s: %v, %v", body, list, err)
		}
	}
}

func TestRuns(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		run := map[string]any{
			"id":              9,
			"run_attempt":     2,
			"name":            "wheels",
			"path":            ".github/workflows/wheels.yml@refs/heads/main",
			"event":           "push",
			"status":          "in_progress",
			"conclusion":      nil,
			"head_sha":        "abc",
			"head_branch":     "main",
			"repository":      map[string]any{"id": 1},
			"head_repository": map[string]any{"id": 2, "full_name": "fork/r"},
		}
		if strings.HasSuffix(r.URL.Path, "/runs/9") {
			run["head_repository"] = nil
			answer(w, 200, run)
			return
		}
		if q := r.URL.Query(); q.Get("head_sha") != "abc" || q.Get("status") != "success" ||
			q.Has("branch") {
			t.Errorf("query %s", r.URL.RawQuery)
		}
		answer(w, 200, map[string]any{"workflow_runs": []any{run}})
	}
	c := h.client()
	list, err := c.Runs(t.Context(), "o", "r", RunFilter{SHA: "abc", Status: "success"})
	if err != nil || len(list) != 1 || list[0].Path != ".github/workflows/wheels.yml" ||
		list[0].HeadName != "fork/r" ||
		list[0].HeadRepository != 2 ||
		list[0].Repository != 1 ||
		list[0].Attempt != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if one, err := c.Run(t.Context(), "o", "r", 9); err != nil || one.HeadRepository != 0 ||
		one.Conclusion != "" ||
		one.Status != "in_progress" {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestPullsForHead(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("state") != "open" || q.Get("head") != "someone:fix/it" {
			t.Errorf("query %s", r.URL.RawQuery)
		}
		answer(
			w,
			200,
			[]any{
				map[string]any{"number": 3, "head": map[string]any{"ref": "fix/it"}},
				map[string]any{"number": 4, "head": map[string]any{"ref": "other"}},
			},
		)
	}
	list, err := h.client().PullsForHead(t.Context(), "o", "r", "someone", "fix/it")
	if err != nil || len(list) != 1 || list[0].GetNumber() != 3 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := h.client().PullsForHead(t.Context(), "o", "r", "", "fix"); err == nil ||
		len(h.calls) != 1 {
		t.Errorf("no owner: %v, %v", err, h.calls)
	}
}

func TestPermission(t *testing.T) {
	for _, x := range []struct {
		code             int
		permission, role string
		write            bool
	}{
		{200, "admin", "admin", true}, {200, "write", "maintain", true}, {200, "write", "write", true},
		{200, "write", "release-engineers", true},
		{200, "read", "triage", false}, {200, "write", "triage", false}, {200, "read", "read", false},
		{200, "none", "none", false}, {200, "write", "", true}, {404, "", "none", false},
	} {
		h := newHub(t)
		h.handle = func(w http.ResponseWriter, r *http.Request) {
			answer(w, x.code, map[string]any{"permission": x.permission, "role_name": x.role})
		}
		p, err := h.client().Permission(t.Context(), "o", "r", "user")
		if err != nil || p.Write != x.write || p.Role != x.role && x.role != "" {
			t.Errorf("%v: %+v, %v", x, p, err)
		}
	}
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) { answer(w, 500, nil) }
	if p, err := h.client().Permission(t.Context(), "o", "r", "user"); err == nil || p.Write {
		t.Errorf("500: %+v, %v", p, err)
	}
}

// Runs and artifacts in GitHub's format are decoded unchanged, or there is an error.
func FuzzEntries(f *testing.F) {
	f.Add(
		[]byte(
			`{"id":1,"name":"a","path":"x.yml@refs/heads/main","digest":null,"workflow_run":{"id":2,"head_repository_id":3},"head_repository":null}`,
		),
	)
	f.Add([]byte(`{"workflow_run":null,"repository":{"id":1e3}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Run
		if json.Unmarshal(text, &r) == nil && strings.Contains(r.Path, "@") {
			t.Errorf("path %q", r.Path)
		}
		var a Artifact
		if json.Unmarshal(text, &a) == nil && a.URL != "" {
			t.Errorf("an address from the answer: %q", a.URL)
		}
	})
}
