package main

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// index is a simple package index.
type index struct {
	address string
	only    *regexp.Regexp // of the file names of wheels that are read
	heads   bool           // of large libraries the beginning only
}

// wheel is one file to read.
type wheel struct {
	pkg
	version, arch, file, url, sha256 string
	yanked                           bool
	own                              bool   // as in historydata.Release
	python                           string // Requires-Python
	tags                             string // of all wheels of the version, as in historydata
	// with are the packages that it is checked with for the list, NAME==VERSION
	with []string
}

var anchor = regexp.MustCompile(`(?s)<a\s([^>]*)>`)
var attribute = regexp.MustCompile(`([a-z-]+)\s*=\s*"([^"]*)"`)

// files returns all wheels of final versions on the page of a package.
func (x *index) files(ctx context.Context, p pkg) ([]wheel, error) {
	page := x.address + "/" + p.name + "/"
	body, err := get(ctx, page, "")
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	var list []wheel
	for _, a := range anchor.FindAllStringSubmatch(string(body), -1) {
		w := wheel{pkg: p}
		for _, m := range attribute.FindAllStringSubmatch(a[1], -1) {
			switch m[1] {
			case "href":
				u, err := base.Parse(html.UnescapeString(m[2]))
				if err != nil {
					return nil, err
				}
				w.sha256, _ = strings.CutPrefix(u.Fragment, "sha256=")
				u.Fragment = ""
				w.url, w.file = u.String(), u.Path[strings.LastIndexByte(u.Path, '/')+1:]
			case "data-yanked":
				w.yanked = true
			case "data-requires-python":
				w.python = html.UnescapeString(m[2])
			}
		}
		name, err := pkgmeta.ParseWheelName(w.file)
		if err != nil {
			continue // a source archive
		}
		v, err := pkgmeta.ParseVersion(name.Version)
		if err != nil || v.IsPreRelease() ||
			p.from != "" && compareVersions(name.Version, p.from) < 0 {
			continue
		}
		w.version = name.Version
		list = append(list, w)
	}
	return list, nil
}

// wheels selects one Linux wheel per final version and architecture, or one for each interpreter of
// the list if the libraries of the package differ between them. A wheel without a platform
// (cuda-toolkit) counts for both architectures.
func (x *index) wheels(ctx context.Context, p pkg) ([]wheel, error) {
	files, err := x.files(ctx, p)
	if err != nil {
		return nil, err
	}
	best, tags := map[[3]string]wheel{}, map[[3]string][]string{}
	for _, w := range files {
		name, err := pkgmeta.ParseWheelName(w.file)
		if err != nil {
			return nil, err
		}
		for _, arch := range []string{"x86_64", "aarch64"} {
			w.arch, w.own = arch, p.each && len(name.Tags) > 0 &&
				slices.Contains(interpreters, name.Tags[0].ABI)
			key := [3]string{w.version, arch, ""}
			if w.own {
				key[2] = name.Tags[0].ABI
			} else if p.each && rank(name) < 3 {
				continue // for an interpreter that is not of the list
			}
			if runsOn(name, arch) && !w.yanked {
				for _, t := range name.Tags {
					tags[key] = append(tags[key], t.Python+"-"+t.ABI)
				}
			}
			if rank(name) > 0 && runsOn(name, arch) {
				old, taken := best[key]
				if !taken || better(w.file, name, old.file) {
					best[key] = w
				}
			}
		}
	}
	var list []wheel
	for key, w := range best {
		slices.Sort(tags[key])
		w.tags = strings.Join(slices.Compact(tags[key]), " ")
		list = append(list, w)
	}
	// The most requested come first, in case the run is interrupted: x86_64, and the newest.
	slices.SortFunc(list, func(a, b wheel) int {
		return cmp.Or(
			strings.Compare(b.arch, a.arch),
			compareVersions(b.version, a.version),
			strings.Compare(a.file, b.file),
		)
	})
	return list, nil
}

func runsOn(name pkgmeta.WheelName, arch string) bool {
	return slices.ContainsFunc(name.Tags, func(t pkgmeta.Tag) bool {
		return t.Platform == "any" ||
			strings.HasSuffix(t.Platform, "_"+arch) && strings.Contains(t.Platform, "linux") &&
				!strings.HasPrefix(t.Platform, "musl")
	})
}

// rank prefers the interpreter for which most releases have a wheel. Free-threaded wheels do not
// differ in anything relevant.
func rank(name pkgmeta.WheelName) int {
	best := 0
	for _, t := range name.Tags {
		switch {
		case strings.HasSuffix(t.ABI, "t") && strings.HasPrefix(t.ABI, "cp"):
		case t.Python == "py3" || t.Python == "cp312":
			best = max(best, 3)
		case t.Python == "cp311" || t.Python == "cp313":
			best = max(best, 2)
		case strings.HasPrefix(t.Python, "cp3"):
			best = max(best, 1)
		}
	}
	return best
}

func better(file string, name pkgmeta.WheelName, old string) bool {
	other, err := pkgmeta.ParseWheelName(old)
	if err != nil || rank(name) != rank(other) {
		return err != nil || rank(name) > rank(other)
	}
	if d := newest(name).Compare(newest(other)); d != 0 {
		return d > 0
	}
	return file < old
}

// newest returns the rank of the newest platform of a wheel. pip prefers newer ones, and their
// libraries may differ: those of pyarrow for manylinux_2_28 have another C++ ABI.
func newest(name pkgmeta.WheelName) (best packages.Rank) {
	for _, t := range name.Tags {
		t.Python, t.ABI = "py3", "none"
		if r, ok := packages.Rate(t, packages.Target{}); ok && r.Compare(best) > 0 {
			best = r
		}
	}
	return best
}

// get fetches an address: all of it, or the given range of bytes.
func get(ctx context.Context, address, byteRange string) ([]byte, error) {
	resp, err := request(ctx, address, byteRange)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// request sends a GET request. With a range, any answer but a partial one is an error.
func request(ctx context.Context, address, byteRange string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	want := http.StatusOK
	if byteRange != "" {
		req.Header.Set("Range", "bytes="+byteRange)
		want = http.StatusPartialContent
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		resp.Body.Close()
		return nil, fmt.Errorf("%s: %s, want %d", address, resp.Status, want)
	}
	return resp, nil
}
