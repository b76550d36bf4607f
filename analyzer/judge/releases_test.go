package judge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
)

// down is a source that cannot be reached.
type down struct{}

func (down) Versions(context.Context, string, packages.Target) ([]string, error) {
	return nil, fmt.Errorf("index: %w", packages.ErrUnreachable)
}

func (down) Release(context.Context, string, string, packages.Target) (*packages.Release, error) {
	return nil, fmt.Errorf("index: %w", packages.ErrUnreachable)
}

// If the source cannot be reached, the embedded history is used, unless it is disabled.
func TestHistoryAnswersForUnreachableIndex(t *testing.T) {
	const name, version = "nvidia-nvjitlink-cu12", "12.8.93"
	on := packages.Target{Python: "3.12", Arch: "x86_64"}
	o := newReleaseCache(down{}, false)
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
	if _, err := newReleaseCache(down{}, true).Release(t.Context(), name, version, on); err == nil {
		t.Error("the history was used although it is turned off")
	}
}

// The history has versions for the environment and for fixes, of the packages that it knows.
func TestHistoryHasVersions(t *testing.T) {
	o := newReleaseCache(down{}, false)
	got, err := o.Versions(t.Context(), "nvidia-nvjitlink-cu12", packages.Target{})
	if err != nil || len(got) < 2 || !strings.Contains(o.note(), "nvidia-nvjitlink-cu12") {
		t.Errorf("versions %v, %v, note %q", got, err, o.note())
	}
	if got, err := o.Versions(t.Context(), "no-such-package", packages.Target{}); err == nil {
		t.Errorf("versions %v of a package that the history does not know", got)
	}
	o = newReleaseCache(down{}, true)
	if got, err := o.Versions(t.Context(), "nvidia-nvjitlink-cu12", packages.Target{}); err == nil {
		t.Errorf("versions %v although the history is turned off", got)
	}
}
