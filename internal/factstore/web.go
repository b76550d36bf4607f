package factstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxEntry limits what is read of an entry, in bytes.
const maxEntry = 65 << 20

// web is a web server with files. It can be written to if it accepts PUT, as Artifactory, Nexus and
// WebDAV do.
type web struct {
	client *http.Client
	root   *url.URL
	user   *url.Userinfo
}

// openWeb returns the store of an address, and its address without credentials.
func openWeb(address string) (*web, string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, "", errors.New("is not the address of a folder of a web server")
	}
	// It follows redirects, but sends the password to no other host, as net/http does.
	w := &web{root: u, user: u.User, client: &http.Client{}}
	u.User = nil
	return w, u.String(), nil
}

func (w *web) Get(ctx context.Context, name string) ([]byte, error) {
	resp, err := w.send(ctx, http.MethodGet, name, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		return nil, nil
	case resp.StatusCode != http.StatusOK:
		return nil, errors.New("it answers " + resp.Status)
	}
	entry, err := io.ReadAll(io.LimitReader(resp.Body, maxEntry+1))
	if err == nil && len(entry) > maxEntry {
		err = fmt.Errorf("an entry has more than %d MB", maxEntry>>20)
	}
	return entry, err
}

func (w *web) Put(ctx context.Context, name string, entry []byte) error {
	resp, err := w.send(ctx, http.MethodPut, name, entry)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s to PUT", w.root.Host, resp.Status)
	}
	return nil
}

// send sends a request. Its error has no address, which could be in a report.
func (w *web) send(
	ctx context.Context, method, name string, body []byte,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(
		ctx, method, w.root.JoinPath(name).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if w.user != nil {
		password, _ := w.user.Password()
		req.SetBasicAuth(w.user.Username(), password)
	}
	req.Header.Set("User-Agent", "compat")
	resp, err := w.client.Do(req)
	var quoted *url.Error
	if errors.As(err, &quoted) {
		err = quoted.Err
	}
	return resp, err
}
