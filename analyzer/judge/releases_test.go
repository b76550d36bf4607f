package judge

import (
	"context"
	"fmt"
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
