package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// NotSimpleError is the error of Probe for a server that answers, but not as a simple index.
type NotSimpleError struct {
	Address string // without credentials
	Likely  string // the address of an index on the same server, without credentials; "" = none found
}

func (e *NotSimpleError) Error() string {
	if e.Likely == "" {
		return e.Address + " has neither a page of pip nor a list of projects, as a simple index has " +
			"(PEP 503, PEP 691)"
	}
	return fmt.Sprintf("%s is not a simple index (PEP 503, PEP 691), but %s is", e.Address, e.Likely)
}

// Probe checks that the address of an index is that of a simple index: it has a page of pip, or its
// root lists projects. If it is not, Probe tries the names that indexes commonly have below their
// server. The error is a *NotSimpleError, or wraps packages.ErrUnavailable.
func Probe(ctx context.Context, o Options) error {
	i, err := New(o)
	if err != nil {
		return err
	}
	found, err := i.hasPip(ctx)
	if err != nil || found {
		return err
	}
	at, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil {
		return err // New has accepted it
	}
	for _, name := range []string{"simple/", "+simple/"} { // the second is devpi's
		o.URL = at.JoinPath(name).String()
		below, err := New(o)
		if err != nil {
			return err
		}
		if found, err := below.hasPip(ctx); err == nil && found {
			return &NotSimpleError{Address: i.String(), Likely: below.String()}
		}
	}
	if listed, err := i.listsProjects(ctx); err != nil || listed {
		return err
	}
	return &NotSimpleError{Address: i.String()}
}

// hasPip reports whether the index has files of pip.
func (i *Index) hasPip(ctx context.Context) (bool, error) {
	p, err := i.page(ctx, "pip")
	if errors.Is(err, packages.ErrUnknown) {
		return false, nil
	}
	return err == nil && len(p.files) > 0, err
}

// maxRoot is how many bytes of the list of projects are read: that of a public index has 40 MB.
const maxRoot = 64 << 10

// listsProjects reports whether the root of the index is a list of projects. Other pages have links
// too, so most of them have to lead to a page with the name of the link.
func (i *Index) listsProjects(ctx context.Context) (bool, error) {
	resp, err := i.do(ctx, request{url: i.base, header: map[string]string{"Accept": acceptPage}})
	if errors.Is(err, packages.ErrUnknown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRoot))
	if err != nil {
		return false, i.errorf(packages.ErrUnavailable, "%s sends no complete page", i.base.Host)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if strings.HasSuffix(kind, "json") {
		return bytes.Contains(body, []byte(`"projects"`)), nil // PEP 691, "Project List"
	}
	links, projects := 0, 0
	for z, href := html.NewTokenizer(bytes.NewReader(body)), ""; ; {
		switch z.Next() {
		case html.ErrorToken: // the end
			return projects > links/2, nil
		case html.StartTagToken:
			if t := z.Token(); t.Data == "a" {
				for _, a := range t.Attr {
					if a.Key == "href" {
						href = a.Val
						links++
					}
				}
			}
		case html.TextToken:
			text := strings.TrimSuffix(strings.TrimSpace(string(z.Text())), "/")
			u, err := resp.Request.URL.Parse(href)
			if err == nil && href != "" && path.Base(u.Path) == pkgmeta.Normalize(text) {
				projects++
			}
			href = ""
		}
	}
}
