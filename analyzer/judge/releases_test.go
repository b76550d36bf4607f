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

// A package that the history answered for has other versions for a fix, and no other package does.
func TestHistoryHasVersionsForFixes(t *testing.T) {
	const name, version = "nvidia-nvjitlink-cu12", "12.8.93"
	o := newReleaseCache(down{}, false)
	if got, err := o.Versions(t.Context(), name, packages.Target{}); err == nil {
		t.Errorf("versions %v before a release was looked up", got)
	}
	if _, err := o.Release(t.Context(), name, version,
		packages.Target{Python: "3.12", Arch: "x86_64"}); err != nil {
		t.Fatal(err)
	}
	if got, err := o.Versions(t.Context(), name, packages.Target{}); err != nil || len(got) < 2 {
		t.Errorf("versions %v, %v", got, err)
	}
}
