package store_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/store"
)

// TestUses stores what repositories of two installations use, and removes it again.
func TestUses(t *testing.T) {
	q, err := queue.Open(t.Context(), queue.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	ctx := t.Context()
	s := &store.Store{Queue: q, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	using := func(installation int64, want ...int64) {
		t.Helper()
		if ids, err := s.Using(ctx, installation); err != nil || !slices.Equal(ids, want) {
			t.Errorf("installation %d: %v, %v, want %v", installation, ids, err, want)
		}
	}
	wheel := func(sum string) []impact.Uses { return []impact.Uses{{Name: "mill", SHA256: sum}} }
	has := func(installation, repository int64, sum string, want bool) {
		t.Helper()
		facts, err := s.Facts(ctx, installation, repository, sum)
		if err != nil || (facts != nil) != want {
			t.Errorf("facts of %s: %q, %v, want %v", sum, facts, err, want)
		}
	}
	for _, installation := range []int64{1, 2} {
		for _, repository := range []int64{7, 5} {
			must(s.PutFacts(ctx, installation, repository, "aa", []byte("facts")))
			must(s.UpdateUses(ctx, installation, repository, func(u *store.Uses) bool {
				u.Wheels = wheel("aa")
				u.Pins = map[string][]string{"b.txt": {"gear==1", "cog==2"}, "a.txt": {"gear==2"}}
				return true
			}))
		}
	}
	using(1, 5, 7)
	u, err := s.Uses(ctx, 1, 5)
	must(err)
	if files, versions := u.Pinned("gear"); u.Repository != 5 || !slices.Equal(files,
		[]string{"a.txt", "b.txt"}) || !slices.Equal(versions, []string{"2", "1"}) {
		t.Errorf("%+v: %q %q", u, files, versions)
	}

	// Another wheel replaces the facts of the one before, and nothing left removes the repository.
	must(s.PutFacts(ctx, 1, 5, "bb", []byte("facts")))
	must(s.UpdateUses(ctx, 1, 5, func(u *store.Uses) bool { u.Wheels = wheel("bb"); return true }))
	has(1, 5, "aa", false)
	has(1, 5, "bb", true)
	must(s.PutNotices(ctx, 1, 5, "gear", store.Notice{Package: "gear", Version: "2"},
		store.Notice{Package: "gear", Version: "2", Wheel: "bb"}))
	must(s.PutNotices(ctx, 1, 5, "cog", store.Notice{Package: "cog"}))
	must(s.PutNotices(ctx, 1, 5, "gear", store.Notice{Package: "gear", Version: "3"}))
	if ns, err := s.Notices(ctx, 1, 5); err != nil || len(ns) != 2 || ns[0].Version != "3" {
		t.Errorf("%+v, %v", ns, err)
	}
	must(s.ForgetUses(ctx, 1, 5))
	using(1, 7)
	using(2, 5, 7)
	has(1, 5, "bb", false)
	if ns, err := s.Notices(ctx, 1, 5); err != nil || len(ns) != 0 {
		t.Errorf("%+v, %v", ns, err)
	}
	if u, err := s.Uses(ctx, 1, 5); err != nil || len(u.Pins)+len(u.Wheels) != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	must(s.ForgetInstallation(ctx, 2))
	using(2)
	using(1, 7)
	has(2, 7, "aa", false)
	has(1, 7, "aa", true)

	// What a build lost is known of packages that both builds have.
	build := func(sha string, exports ...string) {
		t.Helper()
		must(s.AddBuild(ctx, 1, 7, sha, []impact.Uses{{Name: "gear", Exports: exports}}))
	}
	build("a", "spin", "stop")
	build("b", "spin", "stop", "turn")
	build("c", "stop", "turn")
	build("c", "stop")
	must(s.AddBuild(ctx, 1, 7, "d", []impact.Uses{{Name: "cog", Exports: []string{"x"}}}))
	lost, err := s.LostBuilds(ctx, 1, 7)
	if err != nil || len(lost) != 1 || lost[0].SHA != "c" || lost[0].Before != "b" ||
		!slices.Equal(lost[0].Lost, []string{"spin"}) {
		t.Errorf("%+v, %v", lost, err)
	}
	must(s.ForgetUses(ctx, 1, 7))
	if lost, err = s.LostBuilds(ctx, 1, 7); err != nil || len(lost) != 0 {
		t.Errorf("%+v, %v", lost, err)
	}

	// Pins above the limit are left out, whole files at a time.
	many := make([]string, 4000)
	for i := range many {
		many[i] = fmt.Sprintf("p%d==1", i)
	}
	must(s.UpdateUses(ctx, 1, 7, func(u *store.Uses) bool {
		u.Pins = map[string][]string{"a": many, "b": many, "c": many[:500]}
		return true
	}))
	u, err = s.Uses(ctx, 1, 7)
	must(err)
	if len(u.Pins["a"]) != 4000 || u.Pins["b"] != nil || len(u.Pins["c"]) != 500 {
		t.Errorf("%d %d %d pins", len(u.Pins["a"]), len(u.Pins["b"]), len(u.Pins["c"]))
	}
}
