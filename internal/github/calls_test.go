package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestReviewDeployment(t *testing.T) {
	h := newHub(t)
	var got map[string]any
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		json.NewDecoder(r.Body).Decode(&got)
		w.WriteHeader(204)
	}
	err := h.client().
		ReviewDeployment(t.Context(), "o", "r", 9, "pypi", "rejected", strings.Repeat("é", 2000))
	if err != nil || h.count("POST /repos/o/r/actions/runs/9/deployment_protection_rule") != 1 {
		t.Fatalf("%v, calls %v", err, h.calls)
	}
	if c := []rune(got["comment"].(string)); len(c) != ReviewComment || c[ReviewComment-1] != '…' ||
		got["environment_name"] != "pypi" ||
		got["state"] != "rejected" ||
		len(got) != 3 {
		t.Errorf("%d characters, %v", len(c), got["state"])
	}
}

func TestFailedDeliveries(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	type row struct {
		id   int
		guid string
		code int
		age  time.Duration
	}
	pages := [][]row{{ // newest first, as GitHub sorts them
		{
			20,
			"refused-then-fine",
			202,
			1 * time.Minute,
		}, {19, "never", 0, 2 * time.Minute}, {18, "signature", 401, 3 * time.Minute},
		{17, "down", 503, 4 * time.Minute},
	}, {
		{
			16,
			"refused-then-fine",
			502,
			5 * time.Minute,
		}, {15, "down", 503, 6 * time.Minute}, {14, "fine-then-lost", 0, 7 * time.Minute}, {13,
			"fine-then-lost", 200, 8 * time.Minute},
	}, {
		{12, "recent", 504, 9 * time.Minute}, {11, "too-old", 503, 2 * time.Hour},
	}, {{10, "never asked", 503, 3 * time.Hour}}}
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			w.WriteHeader(202)
			fmt.Fprint(w, "{}")
			return
		}
		n := 0
		fmt.Sscan(r.URL.Query().Get("cursor"), &n)
		list := []any{}
		for _, x := range pages[n] {
			list = append(
				list,
				map[string]any{
					"id":              x.id,
					"guid":            x.guid,
					"status_code":     x.code,
					"delivered_at":    now.Add(-x.age),
					"event":           "pull_request",
					"action":          "opened",
					"installation_id": 5,
				},
			)
		}
		w.Header().
			Set("Link", fmt.Sprintf(`<%s/app/hook/deliveries?per_page=100&cursor=%d>; rel="next"`,
				h.api.URL, n+1))
		answer(w, 200, list)
	}
	a := h.app(nil)
	list, err := a.FailedDeliveries(t.Context(), now.Add(-time.Hour))
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprint(d.GUID, d.ID, d.Code))
		if d.Event != "pull_request" || d.Action != "opened" || d.Installation != 5 {
			t.Errorf("%+v", d)
		}
	}
	if want := "never19 0 down17 503 recent12 504"; err != nil ||
		strings.ReplaceAll(strings.Join(got, " "), "  ", " ") != want ||
		len(h.calls) != 3 {
		t.Errorf("%q, want %q; %v; calls %v", got, want, err, h.calls)
	}
	if err := a.Redeliver(t.Context(), 19); err != nil ||
		h.count("POST /app/hook/deliveries/19/attempts") != 1 {
		t.Errorf("redeliver: %v", err)
	}
}

func TestGraphQL(t *testing.T) {
	h := newHub(t)
	n := 0
	var body struct {
		Query     string
		Variables map[string]any
	}
	reply := func(w http.ResponseWriter) {
		answer(w, 200, map[string]any{"data": map[string]any{"x": 1}})
	}
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		n++
		json.NewDecoder(r.Body).Decode(&body)
		reply(w)
	}
	c := h.client()
	var out struct{ X int }
	if err := c.GraphQL(t.Context(), "query($a:Int){x}", map[string]any{"a": 3}, &out); err != nil ||
		out.X != 1 ||
		body.Variables["a"] != 3.0 ||
		h.count("POST /graphql") != 1 {
		t.Errorf("%v %v %v", out, body, err)
	}

	reply = func(w http.ResponseWriter) {
		answer(
			w,
			200,
			map[string]any{
				"data": map[string]any{"x": 2},
				"errors": []any{
					map[string]any{"type": "NOT_FOUND", "message": "Could not resolve"},
				},
			},
		)
	}
	err := c.GraphQL(t.Context(), "mutation{x}", nil, &out)
	if f := Classify(err); f.Kind != Missing || out.X != 2 ||
		!strings.Contains(f.Reason, "Could not resolve") {
		t.Errorf("%+v of %v", f, err)
	}

	n, reply = 0, func(w http.ResponseWriter) { w.WriteHeader(502) }
	if f := Classify(c.GraphQL(t.Context(), "query{x}", nil, nil)); f.Kind != Retry || n != tries {
		t.Errorf("query: %+v after %d", f, n)
	}
	n = 0
	if f := Classify(c.GraphQL(t.Context(), "mutation{x}", nil, nil)); f.Kind != Retry ||
		!f.Unsure ||
		n != 1 {
		t.Errorf("mutation: %+v after %d", f, n)
	}

	reply = func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }
	if f := Classify(c.GraphQL(t.Context(), "mutation{x}", nil, nil)); f.Kind != Retry ||
		!f.Unsure {
		t.Errorf("no JSON: %+v", f)
	}

	reply = func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "9")
		answer(
			w,
			200,
			map[string]any{
				"errors": []any{
					map[string]any{"type": "RATE_LIMITED", "message": "API rate limit exceeded"},
				},
			},
		)
	}
	var l *LimitError
	asked := time.Now()
	if err := c.GraphQL(t.Context(), "mutation{x}", nil, nil); !errors.As(err, &l) ||
		l.Until.Sub(asked) < 9*time.Second ||
		time.Until(l.Until) > 9*time.Second {
		t.Errorf("limited: %v", err)
	}
	n = 0
	if _, _, err := c.Repositories.Get(t.Context(), "o", "r"); !errors.As(err, &l) || n != 0 {
		t.Errorf("after a limited query: %v", err)
	}
}
