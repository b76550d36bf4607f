package githubtest

import (
	"slices"
	"strings"
)

func (s *Server) getRelease(r *request) (any, error) {
	l, err := r.release()
	if err != nil {
		return nil, err
	}
	return s.releaseJSON(r.repo, l), nil
}

// listReleases is newest first, drafts too: the App's token may write.
func (s *Server) listReleases(r *request) (any, error) {
	var out []any
	for _, l := range slices.Backward(r.repo.Releases) {
		out = append(out, s.releaseJSON(r.repo, l))
	}
	return s.page(r, "", out)
}

func (r *request) release() (*Release, error) {
	for _, l := range r.repo.Releases {
		if l.ID == r.number("release_id") {
			return l, nil
		}
	}
	return nil, notFound()
}

// getReleaseByTag leaves out drafts, as GitHub does.
func (s *Server) getReleaseByTag(r *request) (any, error) {
	for _, l := range r.repo.Releases {
		if l.Tag == r.PathValue("tag") && !l.Draft {
			return s.releaseJSON(r.repo, l), nil
		}
	}
	return nil, notFound()
}

func (s *Server) listAssets(r *request) (any, error) {
	l, err := r.release()
	if err != nil {
		return nil, err
	}
	var out []any
	for _, a := range l.Assets {
		out = append(out, s.assetJSON(r.repo, a))
	}
	return s.page(r, "", out)
}

// getAsset gives the bytes to who accepts application/octet-stream, by a redirect.
func (s *Server) getAsset(r *request) (any, error) {
	for _, l := range r.repo.Releases {
		for _, a := range l.Assets {
			if a.ID != r.number("asset_id") {
				continue
			}
			if strings.Contains(r.Header.Get("Accept"), "application/octet-stream") {
				if a.State != "uploaded" {
					return nil, notFound()
				}
				return s.redirect(&a.Blob, "application/octet-stream"), nil
			}
			return s.assetJSON(r.repo, a), nil
		}
	}
	return nil, notFound()
}
