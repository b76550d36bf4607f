package githubtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func (s *Server) listRuns(r *request) (any, error) {
	matches := func(query, value string) bool {
		return r.query(query) == "" || r.query(query) == value
	}
	var out []any
	for _, w := range slices.Backward(r.repo.Runs) {
		status := r.query("status") // GitHub also accepts a conclusion here
		if matches("head_sha", w.SHA) && matches("branch", w.Branch) && matches("event", w.Event) &&
			(status == "" || status == w.Status || status == w.Conclusion) {
			out = append(out, s.runJSON(w))
		}
	}
	return s.page(r, "workflow_runs", out)
}

func (r *request) run() (*Run, error) {
	for _, w := range r.repo.Runs {
		if w.ID == r.number("run_id") {
			return w, nil
		}
	}
	return nil, notFound()
}

func (s *Server) getRun(r *request) (any, error) {
	w, err := r.run()
	if err != nil {
		return nil, err
	}
	return s.runJSON(w), nil
}

func (s *Server) listArtifacts(r *request) (any, error) {
	w, err := r.run()
	if err != nil {
		return nil, err
	}
	w.Lists++
	if w.HideLists > 0 {
		w.HideLists--
		return s.page(r, "artifacts", nil)
	}
	var out []any
	for _, a := range w.Artifacts {
		if name := r.query("name"); name == "" || name == a.Name {
			out = append(out, s.artifactJSON(w, a))
		}
	}
	return s.page(r, "artifacts", out)
}

func (r *request) artifact() (*Run, *Artifact, error) {
	for _, w := range r.repo.Runs {
		for _, a := range w.Artifacts {
			if a.ID == r.number("artifact_id") {
				return w, a, nil
			}
		}
	}
	return nil, nil, notFound()
}

func (s *Server) getArtifact(r *request) (any, error) {
	w, a, err := r.artifact()
	if err != nil {
		return nil, err
	}
	return s.artifactJSON(w, a), nil
}

func (s *Server) downloadArtifact(r *request) (any, error) {
	_, a, err := r.artifact()
	switch {
	case err != nil:
		return nil, err
	case r.PathValue("archive_format") != "zip":
		return nil, notFound()
	case a.Expired:
		return nil, fail(http.StatusGone, "Artifact has expired")
	}
	return s.redirect(&a.Blob, "application/zip"), nil
}

func (s *Server) listJobs(r *request) (any, error) {
	w, err := r.run()
	if err != nil {
		return nil, err
	}
	var out []any
	for _, j := range w.Jobs {
		steps := []any{}
		for i, x := range j.Steps {
			steps = append(
				steps,
				object{
					"name":         x.Name,
					"status":       "completed",
					"conclusion":   x.Conclusion,
					"number":       i + 1,
					"started_at":   stamp(x.Started),
					"completed_at": stamp(x.Completed),
				},
			)
		}
		out = append(
			out,
			object{
				"id":           j.ID,
				"run_id":       w.ID,
				"run_attempt":  w.Attempt,
				"node_id":      node("JOB", j.ID),
				"name":         j.Name,
				"head_sha":     w.SHA,
				"status":       cmp.Or(j.Status, "completed"),
				"conclusion":   orNull(j.Conclusion),
				"started_at":   stamp(w.At),
				"completed_at": stamp(w.At),
				"steps":        steps,
				"labels":       []any{},
				"url":          s.repoURL(r.repo, "/actions/jobs/%d", j.ID),
				"html_url":     jobPage(w, j),
			},
		)
	}
	return s.page(r, "jobs", out)
}

func jobPage(w *Run, j *Job) string {
	return fmt.Sprintf(
		"https://github.test/%s/actions/runs/%d/job/%d",
		w.Repo.FullName(),
		w.ID,
		j.ID,
	)
}

func (s *Server) downloadLog(r *request) (any, error) {
	for _, w := range r.repo.Runs {
		for _, j := range w.Jobs {
			if j.ID == r.number("job_id") && j.Expired {
				return nil, fail(http.StatusGone, "Logs have expired")
			} else if j.ID == r.number("job_id") {
				return s.redirect(&j.Blob, "text/plain; charset=utf-8"), nil
			}
		}
	}
	return nil, notFound()
}

// answerGate handles the App's response to a deployment: a status comment, or the verdict, after
// which the run continues or ends.
func (s *Server) answerGate(r *request) (any, error) {
	w, err := r.run()
	if err != nil {
		return nil, err
	}
	environment := str(r.body, "environment_name")
	state := str(r.body, "state")
	comment := str(r.body, "comment")
	var g *Gate
	for _, other := range r.repo.Gates { // the last one: a run that is started again waits again
		if other.Run == w && other.Environment == environment {
			g = other
		}
	}
	if g == nil {
		return nil, s.violation(r, "run %d does not wait for the environment %q", w.ID, environment)
	}
	switch n := utf8.RuneCountInString(comment); {
	case n > maxGateComment:
		return nil, s.violation(r, "a comment of %d characters, at most %d", n, maxGateComment)
	case state != "" && g.State != "":
		return nil, s.violation(r, "the gate of %s was answered before", environment)
	case state == "rejected" && comment == "":
		return nil, s.violation(r, "rejected without a reason")
	case state == "" && g.State != "":
		return nil, s.violation(r, "a report on the gate of %s, which was answered before", environment)
	case state == "" && len(g.Reports) == maxGateReports:
		return nil, s.violation(r, "more than %d reports on one gate", maxGateReports)
	case state == "":
		g.Reports = append(g.Reports, comment)
		return &answer{status: http.StatusNoContent}, nil
	}
	g.State, g.Comments = state, append(g.Comments, comment)
	g.Answers++
	if w.Status, w.Conclusion = "in_progress", ""; state == "rejected" {
		w.Status, w.Conclusion = "completed", "failure"
	}
	return &answer{status: http.StatusNoContent}, nil
}

// linkLife is the lifetime of GitHub's links to stored files.
const linkLife = time.Minute

// link is an address on the storage host. Anyone who has it can read the file until it expires.
type link struct {
	blob    *Blob
	kind    string
	expires time.Time
}

func (s *Server) redirect(b *Blob, kind string) *answer {
	name := random(16)
	life := linkLife
	if b.Stale > 0 {
		b.Stale--
		life = -time.Second
	}
	s.links[name] = &link{blob: b, kind: kind, expires: time.Now().Add(life)}
	return &answer{
		status: http.StatusFound,
		header: http.Header{"Location": {s.storage.url + "/blobs/" + name + "?sig=" + random(8)}},
	}
}

// steps is the number of parts of a slow response.
const steps = 20

func (s *Server) serveStorage(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/blobs/")
	s.mu.Lock()
	if r.Header.Get("Authorization") != "" {
		s.violate("%s: the storage host was sent an Authorization header", r.URL.Path)
	}
	l := s.links[name]
	if l == nil || time.Now().After(l.expires) {
		s.mu.Unlock()
		http.Error(w, "AuthenticationFailed: the link is unknown or has expired", http.StatusForbidden)
		return
	}
	b := l.blob
	b.Downloads++
	data, cut, slow := b.Data, b.Cuts > 0, b.Slow
	if b.Half {
		data = data[:len(data)/2]
	}
	if cut {
		b.Cuts--
	}
	s.mu.Unlock()

	w.Header().Set("Content-Type", l.kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if cut {
		_, _ = w.Write(data[:len(data)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	if slow == 0 {
		_, _ = w.Write(data) // fails only if the client closed the connection
		return
	}
	for i := range steps {
		_, _ = w.Write(data[len(data)*i/steps : len(data)*(i+1)/steps])
		w.(http.Flusher).Flush()
		select {
		case <-time.After(slow / steps):
		case <-r.Context().Done():
			return
		}
	}
}
