package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// Lists are read up to 30 pages of 100.
const (
	perPage   = 100
	mostPages = 30
)

// ErrTooMany reports that a list has more pages than are read.
var ErrTooMany = errors.New("the list has more pages than compat reads")

// Artifact is an artifact of a workflow run. go-github v60 has neither its digest nor its origin.
type Artifact struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	// bytes of the zip; for artifacts without a digest (upload-artifact before v4) of its content
	Size      int64     `json:"size_in_bytes"`
	Expired   bool      `json:"expired"`
	Digest    string    `json:"digest"` // "sha256:…" of the zip; "" = unknown
	CreatedAt time.Time `json:"created_at"`
	// for Download; always below the API root, whatever GitHub's response contains
	URL string `json:"-"`

	// Origin; "" and 0 if GitHub does not report it. Forks and parent share one list, so check
	// these before trusting the artifact.
	Run            int64  `json:"-"`
	HeadSHA        string `json:"-"`
	HeadBranch     string `json:"-"`
	HeadRepository int64  `json:"-"`
}

// UnmarshalJSON decodes an artifact and flattens workflow_run.
func (a *Artifact) UnmarshalJSON(b []byte) error {
	type plain Artifact
	v := struct {
		*plain
		Origin struct {
			ID             int64  `json:"id"`
			HeadSHA        string `json:"head_sha"`
			HeadBranch     string `json:"head_branch"`
			HeadRepository int64  `json:"head_repository_id"`
		} `json:"workflow_run"`
	}{plain: (*plain)(a)}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	a.Run, a.HeadSHA, a.HeadBranch, a.HeadRepository = v.Origin.ID, v.Origin.HeadSHA,
		v.Origin.HeadBranch, v.Origin.HeadRepository
	return nil
}

// Asset is a file of a release.
type Asset struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	State     string    `json:"state"` // "uploaded", or "open" while it is being uploaded
	Size      int64     `json:"size"`
	Digest    string    `json:"digest"` // "sha256:…"; "" = unknown
	UpdatedAt time.Time `json:"updated_at"`
	URL       string    `json:"-"` // for Download with Accept "application/octet-stream"
}

// Artifacts lists the artifacts of a workflow run, including those of earlier attempts. Together
// with ErrTooMany it returns the first 3,000.
func (c *Client) Artifacts(ctx context.Context, owner, repo string, run int64) ([]Artifact, error) {
	path := fmt.Sprintf("repos/%s/%s/actions/", url.PathEscape(owner), url.PathEscape(repo))
	list, err := pages(
		ctx,
		c.Client,
		fmt.Sprintf("%sruns/%d/artifacts", path, run),
		nil,
		"artifacts",
		mostPages,
		func(a Artifact) int64 { return a.ID },
	)
	for i := range list {
		list[i].URL = c.BaseURL.String() + fmt.Sprintf("%sartifacts/%d/zip", path, list[i].ID)
	}
	if err != nil {
		return list, fmt.Errorf("github: list the artifacts of run %d: %w", run, err)
	}
	return list, nil
}

// Assets lists the files of a release. Together with ErrTooMany it returns the first 3,000.
func (c *Client) Assets(ctx context.Context, owner, repo string, release int64) ([]Asset, error) {
	path := fmt.Sprintf("repos/%s/%s/releases/", url.PathEscape(owner), url.PathEscape(repo))
	list, err := pages(
		ctx,
		c.Client,
		fmt.Sprintf("%s%d/assets", path, release),
		nil,
		"",
		mostPages,
		func(a Asset) int64 { return a.ID },
	)
	for i := range list {
		list[i].URL = c.BaseURL.String() + fmt.Sprintf("%sassets/%d", path, list[i].ID)
	}
	if err != nil {
		return list, fmt.Errorf("github: list the assets of release %d: %w", release, err)
	}
	return list, nil
}

// pages reads all pages of a list. field is the member that contains the list; "" = the response
// is the list. Entries that move to the next page during the reading are returned once.
func pages[T any](
	ctx context.Context,
	c *gh.Client,
	path string,
	filter url.Values,
	field string,
	most int,
	id func(T) int64,
) ([]T, error) {
	var out []T
	seen := map[int64]bool{}
	for page := 1; ; {
		q := url.Values{"per_page": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(page)}}
		maps.Copy(q, filter)
		req, err := c.NewRequest("GET", path+"?"+q.Encode(), nil)
		if err != nil {
			return out, err
		}
		var raw json.RawMessage
		resp, err := c.Do(ctx, req, &raw)
		if err != nil {
			return out, err
		}
		if field != "" {
			var wrap map[string]json.RawMessage
			if err := json.Unmarshal(raw, &wrap); err != nil {
				return out, fmt.Errorf("page %d is not a JSON object: %w", page, err)
			}
			raw = wrap[field]
		}
		var some []T
		if err := json.Unmarshal(raw, &some); err != nil {
			return out, fmt.Errorf("page %d: %w", page, err)
		}
		for _, v := range some {
			if !seen[id(v)] {
				seen[id(v)] = true
				out = append(out, v)
			}
		}
		switch {
		case resp.NextPage <= page:
			return out, nil
		case page >= most:
			return out, ErrTooMany
		}
		page = resp.NextPage
	}
}
