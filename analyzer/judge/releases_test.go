package judge

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
)

// down is a source that answers everything with one error.
type down struct{ err error }

func (d down) Versions(context.Context, string, packages.Target) ([]string, error) {
	return nil, fmt.Errorf("index: %w", d.err)
}

func (d down) Release(context.Context, string, string, packages.Target) (*packages.Release, error) {
	return nil, fmt.Errorf("index: %w", d.err)
}

// If the source cannot be reached or refuses, the embedded history is used, unless it is disabled.
func TestHistoryAnswersForUnreachableIndex(t *testing.T) {
	const name, version = "nvidia-nvjitlink-cu12", "12.8.93"
	on := packages.Target{Python: "3.12", Arch: "x86_64"}
	for _, source := range []down{{packages.ErrUnreachable}, {packages.ErrRefused}} {
		o := newReleaseCache(source, false)
		r, err := o.Release(t.Context(), name, version, on)
		if err != nil || !r.Known || len(r.Libraries) == 0 {
			t.Fatalf("release %+v, %v", r, err)
		}
		if !strings.Contains(o.note(), name) {
			t.Errorf("note %q", o.note())
		}
		if _, err := o.Release(t.Context(), "no-such-package", "1", on); err == nil {
			t.Error("a package that the history does not know was found")
		}
		if _, err := newReleaseCache(source, true).Release(t.Context(), name, version, on); err == nil {
			t.Error("the history was used although it is turned off")
		}
	}
	o := newReleaseCache(down{packages.ErrUnavailable}, false) // it answered something else
	if _, err := o.Release(t.Context(), name, version, on); err == nil {
		t.Error("the history was used although the source answered")
	}
}

// The history has versions for the environment and for fixes, of the packages that it knows.
func TestHistoryHasVersions(t *testing.T) {
	o := newReleaseCache(down{packages.ErrUnreachable}, false)
	got, err := o.Versions(t.Context(), "nvidia-nvjitlink-cu12", packages.Target{})
	if err != nil || len(got) < 2 || !strings.Contains(o.note(), "nvidia-nvjitlink-cu12") {
		t.Errorf("versions %v, %v, note %q", got, err, o.note())
	}
	if got, err := o.Versions(t.Context(), "no-such-package", packages.Target{}); err == nil {
		t.Errorf("versions %v of a package that the history does not know", got)
	}
	o = newReleaseCache(down{packages.ErrUnreachable}, true)
	if got, err := o.Versions(t.Context(), "nvidia-nvjitlink-cu12", packages.Target{}); err == nil {
		t.Errorf("versions %v although the history is turned off", got)
	}
}

// reader is a source whose releases have a library each: the one with the version in its name.
type reader struct{ read *[]string }

func (reader) Versions(context.Context, string, packages.Target) ([]string, error) {
	return []string{"58.1", "59.1", "60.1"}, nil
}

func (reader) Release(
	_ context.Context, name, version string, _ packages.Target,
) (*packages.Release, error) {
	major, _, _ := strings.Cut(version, ".")
	return &packages.Release{Name: name, Version: version, Known: true, Libraries: []packages.Library{
		{Path: "tool/libavutil.so." + major, Unread: true},
	}}, nil
}

func (r reader) Read(
	_ context.Context, p *packages.Release, _ packages.Target, worth func(string) int64,
) (*packages.Release, error) {
	out := *p
	out.Libraries = slices.Clone(p.Libraries)
	if l := &out.Libraries[0]; l.Unread && worth(l.Path) > 0 {
		*r.read = append(*r.read, p.Version)
		*l = packages.Library{Path: l.Path, SONAME: path.Base(l.Path), Known: true}
	}
	return &out, nil
}

// Of other versions of a package, those are not read that have another version of the library.
func TestWithLibrary(t *testing.T) {
	var read []string
	d := newDemand(reader{&read}, Options{})
	d.direct["libavutil"], d.wanted["libavutil"] = false, true
	w := &Releases{
		ctx: t.Context(), source: d, on: packages.Target{Python: "3.12", Arch: "x86_64"},
		cache: map[releaseOn]*packages.Release{}, listing: d, listed: map[releaseOn]*packages.Release{},
	}
	c := w.WithLibrary(&packages.Release{Name: "tool", Version: "60.1"}, "libavutil.so.58",
		func(r *packages.Release) bool { return r.Libraries[0].SONAME == "libavutil.so.58" })
	for version, want := range map[string]bool{"58.1": true, "59.1": false, "60.1": false} {
		if got := c.Search.Good(version); got != want {
			t.Errorf("%s: %t", version, got)
		}
	}
	if len(read) != 1 || read[0] != "58.1" {
		t.Errorf("read: %v", read)
	}
	for files, may := range map[string]bool{
		"libx.so": true, "libx.so.1": true, "libx.so.1.2.3": true, "libx.so.2": false, "liby.so.1": false,
		"libx.so libx.so.2": false, "libx.so libx.so.2 libx.so.1": true, "": false,
	} {
		r := &packages.Release{}
		for _, f := range strings.Fields(files) {
			r.Libraries = append(r.Libraries, packages.Library{Path: "x/" + f, Unread: true})
		}
		if hasVersion(r, "libx.so.1") != may {
			t.Errorf("%s: %t", files, !may)
		}
	}
}
