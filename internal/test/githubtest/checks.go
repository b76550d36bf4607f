package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

func (s *Server) createCheck(r *request) (any, error) {
	sha := str(r.body, "head_sha")
	if r.repo.git[sha] == nil {
		return nil, s.violation(r, "head_sha %q is no commit of %s", sha, r.repo.FullName())
	}
	k := &Check{SHA: sha, Status: "queued", Created: time.Now()}
	if why := s.checkRun(r, k); why != "" {
		return nil, s.violation(r, "%s", why)
	}
	k.ID = s.id()
	if r.repo.suites[sha] == 0 {
		r.repo.suites[sha] = s.id()
	}
	k.apply(r.body)
	r.repo.Checks = append(r.repo.Checks, k)
	return created(s.checkJSON(r.repo, k)), nil
}

func (r *request) check() (*Check, error) {
	for _, k := range r.repo.Checks {
		if k.ID == r.number("check_run_id") {
			return k, nil
		}
	}
	return nil, notFound()
}

func (s *Server) getCheck(r *request) (any, error) {
	k, err := r.check()
	if err != nil {
		return nil, err
	}
	return s.checkJSON(r.repo, k), nil
}

func (s *Server) updateCheck(r *request) (any, error) {
	k, err := r.check()
	if err != nil {
		return nil, err
	}
	if k.App != "" {
		s.violate("%s %s: the check run is the App %s's", r.Method, r.call.Path, k.App)
		return nil, fail(
			http.StatusForbidden,
			"Invalid app_id `%d` - check run can only be modified by the GitHub App that created it.",
			s.AppID,
		)
	}
	if why := s.checkRun(r, k); why != "" {
		return nil, s.violation(r, "%s", why)
	}
	k.apply(r.body)
	return s.checkJSON(r.repo, k), nil
}

// apply changes the fields in the body. A conclusion completes the run; another status without
// one opens it again.
func (k *Check) apply(body object) {
	for key, field := range map[string]*string{"name": &k.Name, "external_id": &k.ExternalID,
		"details_url": &k.DetailsURL} {
		if v, ok := body[key].(string); ok {
			*field = v
		}
	}
	if status := str(body, "status"); status != "" {
		k.Status = status
		if status != "completed" {
			k.Conclusion, k.Completed = "", time.Time{}
		}
	}
	if conclusion := str(body, "conclusion"); conclusion != "" {
		k.Status, k.Conclusion, k.Completed = "completed", conclusion, time.Now()
		k.Verdicts++
	}
	if actions, ok := body["actions"].([]any); ok {
		k.Actions = nil
		for _, a := range actions {
			o, _ := a.(object)
			k.Actions = append(
				k.Actions,
				Action{
					Label:       str(o, "label"),
					Description: str(o, "description"),
					Identifier:  str(o, "identifier"),
				},
			)
		}
	}
	out := obj(body, "output")
	for key, field := range map[string]*string{"title": &k.Title, "summary": &k.Summary,
		"text": &k.Text} {
		if v, ok := out[key].(string); ok {
			*field = v
		}
	}
	batch := arr(out, "annotations")
	for _, a := range batch {
		o, _ := a.(object)
		k.Annotations = append(
			k.Annotations,
			Annotation{
				Path:    str(o, "path"),
				Start:   int(num(o, "start_line")),
				End:     int(num(o, "end_line")),
				Level:   str(o, "annotation_level"),
				Title:   str(o, "title"),
				Message: str(o, "message"),
				Details: str(o, "raw_details"),
			},
		)
	}
	if len(batch) > 0 {
		k.Batches = append(k.Batches, len(batch))
	}
}

func (s *Server) listAnnotations(r *request) (any, error) {
	k, err := r.check()
	if err != nil {
		return nil, err
	}
	var out []any
	for _, a := range k.Annotations {
		out = append(
			out,
			object{
				"path":             a.Path,
				"start_line":       a.Start,
				"end_line":         a.End,
				"start_column":     nil,
				"end_column":       nil,
				"annotation_level": a.Level,
				"title":            orNull(a.Title),
				"message":          a.Message,
				"raw_details":      orNull(a.Details),
				"blob_href":        "",
			},
		)
	}
	return s.page(r, "", out)
}

func (s *Server) listChecks(r *request) (any, error) {
	c, err := r.at(r.PathValue("ref"))
	if err != nil {
		return nil, fail(
			http.StatusUnprocessableEntity,
			"No commit found for SHA: %s",
			r.PathValue("ref"),
		)
	}
	return s.checksPage(r, c.SHA)
}

func (s *Server) listSuiteChecks(r *request) (any, error) {
	sha, err := r.suite()
	if err != nil {
		return nil, err
	}
	return s.checksPage(r, sha)
}

// checksPage lists newest first; filter=latest, the default, returns only the newest of each App
// and name.
func (s *Server) checksPage(r *request, sha string) (any, error) {
	var out []any
	seen := map[string]bool{}
	for _, k := range slices.Backward(r.repo.Checks) {
		name, status, app := r.query("check_name"), r.query("status"), r.query("app_id")
		if k.SHA != sha || name != "" && name != k.Name || status != "" && status != k.Status ||
			app != "" && app != fmt.Sprint(s.appRef(k.App)["id"]) ||
			r.query("filter") != "all" && seen[k.App+"/"+k.Name] {
			continue
		}
		seen[k.App+"/"+k.Name] = true
		out = append(out, s.checkJSON(r.repo, k))
	}
	return s.page(r, "check_runs", out)
}

func (r *request) suite() (string, error) {
	for sha, id := range r.repo.suites {
		if id == r.number("check_suite_id") {
			return sha, nil
		}
	}
	return "", notFound()
}

func (s *Server) getSuite(r *request) (any, error) {
	sha, err := r.suite()
	if err != nil {
		return nil, err
	}
	return s.suiteJSON(r.repo, sha), nil
}

func (s *Server) listSuites(r *request) (any, error) {
	c, err := r.at(r.PathValue("ref"))
	if err != nil {
		return nil, err
	}
	var out []any
	if r.repo.suites[c.SHA] != 0 {
		out = append(out, s.suiteJSON(r.repo, c.SHA))
	}
	return s.page(r, "check_suites", out)
}

// AddCheck adds a completed check run of another App to a commit, such as a job of GitHub Actions
// ("github-actions").
func (s *Server) AddCheck(r *Repo, sha, app, name, conclusion string) *Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &Check{
		ID:         s.id(),
		SHA:        sha,
		Name:       name,
		Status:     "completed",
		Conclusion: conclusion,
		App:        app,
		Created:    time.Now(),
		Completed:  time.Now(),
	}
	if r.suites[sha] == 0 {
		r.suites[sha] = s.id()
	}
	r.Checks = append(r.Checks, k)
	return k
}

// Checks returns copies of the App's check runs on a commit, oldest first.
func (s *Server) Checks(r *Repo, sha string) []Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Check
	for _, k := range r.Checks {
		if k.SHA == sha && k.App == "" {
			c := *k
			c.Annotations = slices.Clone(k.Annotations)
			c.Batches = slices.Clone(k.Batches)
			c.Actions = slices.Clone(k.Actions)
			out = append(out, c)
		}
	}
	return out
}
