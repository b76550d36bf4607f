package service_test

import (
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// asset is a wheel of a release that needs these symbols of libm.
func asset(version string, symbols ...string) *githubtest.Asset {
	return githubtest.NewAsset(wheelName(version), wheel(version, symbols...))
}

func (s *service) tagged(name string) string {
	sha := s.gh.Commit(s.repo, "main", map[string]string{"version": name + "\n"})
	s.gh.Tag(s.repo, name, sha)
	return sha
}

// A release is compared with the previous one. An immutable one can only be followed by another
// version.
func TestReleaseIsComparedWithThePreviousOne(t *testing.T) {
	s := start(t, time.Minute)
	first := s.tagged("v1.0.0")
	l := s.gh.AddRelease(s.repo, "v1.0.0", asset("1.0.0", "pow@GLIBC_2.29"))
	s.send("release", s.gh.ReleaseEvent(s.repo, l, "published"))
	s.judged(first, "failure", "pow")

	second := s.tagged("v1.0.1")
	m := s.gh.AddRelease(s.repo, "v1.0.1", asset("1.0.1", "pow@GLIBC_2.29", "exp@GLIBC_2.29"))
	s.gh.Do(func() { m.Immutable, m.At = true, l.At.Add(time.Hour) })
	s.send("release", s.gh.ReleaseEvent(s.repo, m, "published"))
	s.judged(
		second,
		"failure",
		"exp",
		"immutable",
		"`v1.0.2`",
		"Of 2 findings, 1 was in `v1.0.0` already",
	)
}

func TestDraftReleases(t *testing.T) {
	s := start(t, time.Minute)
	var main string
	s.gh.Do(func() { main = s.repo.Branches["main"] })
	l := s.gh.AddRelease(s.repo, "v2.0.0")
	s.gh.Do(func() { l.Draft = true })
	s.send("release", s.gh.ReleaseEvent(s.repo, l, "created"))
	s.idle()
	if n := len(s.gh.Checks(s.repo, main)); n != 0 {
		t.Errorf("%d check runs for a draft without assets", n)
	}
	bad := asset("2.0.0", "pow@GLIBC_2.29")
	bad.State = "open"
	s.gh.AddAsset(l, bad)
	s.send("release", s.gh.ReleaseEvent(s.repo, l, "edited"))
	s.until(func() string {
		if len(s.gh.Checks(s.repo, main)) != 1 {
			return "no check run on the commit that the draft will name"
		}
		return ""
	})
	s.gh.Do(func() { bad.State = "uploaded" })
	s.judged(main, "failure", "pow", "This release is a draft")

	// Its author fixes it, and then it is published: the same assets on the same commit are not
	// checked again.
	s.gh.Do(func() { bad.Blob = githubtest.Blob{Data: wheel("2.0.0", "pow@GLIBC_2.2.5")} })
	s.send("release", s.gh.ReleaseEvent(s.repo, l, "edited"))
	s.judged(main, "success")
	s.idle()
	verdicts := s.verdicts(main)
	s.gh.Tag(s.repo, "v2.0.0", main)
	s.gh.Do(func() { l.Draft = false })
	s.send("release", s.gh.ReleaseEvent(s.repo, l, "published"))
	s.idle()
	s.gh.Do(func() { l.Draft = true })
	s.send("release", s.gh.ReleaseEvent(s.repo, l, "unpublished"))
	s.idle()
	if n := s.verdicts(main); n != verdicts {
		t.Errorf("%d verdicts, %d before it was published and taken back", n, verdicts)
	}
}

func TestDeletedRelease(t *testing.T) {
	s := start(t, time.Minute)
	sha := s.tagged("v1")
	l := s.gh.AddRelease(s.repo, "v1")
	s.send("release", s.gh.ReleaseEvent(s.repo, l, "published"))
	s.until(func() string {
		if len(s.gh.Checks(s.repo, sha)) == 0 {
			return "no check run"
		}
		return ""
	})
	s.idle()
	deleted := s.gh.ReleaseEvent(s.repo, l, "deleted")
	s.gh.Do(func() { s.repo.Releases = nil })
	s.send("release", deleted)
	s.until(func() string {
		if k := s.gh.Checks(s.repo, sha)[0]; k.Conclusion != "cancelled" {
			return "the check of a deleted release is " + k.Status + " " + k.Conclusion
		}
		return ""
	})
}

// A commit has one check for pull requests, merge groups and releases: the worst result counts, as
// long as its subject exists.
func TestWorstResultOfACommitCounts(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.finish(p, clean("1.1.0"))
	sha := p.HeadSHA
	s.judged(sha, "success")
	s.gh.Tag(s.repo, "v1.1.0", sha)
	l := s.gh.AddRelease(s.repo, "v1.1.0", asset("1.1.0", "pow@GLIBC_2.29"))
	s.send("release", s.gh.ReleaseEvent(s.repo, l, "published"))
	s.judged(sha, "failure", "pow", "release v1.1.0", "The result without it: Compatible")
	s.idle()
	s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
	s.idle()
	s.judged(sha, "failure", "pow")

	deleted := s.gh.ReleaseEvent(s.repo, l, "deleted")
	s.gh.Do(func() { s.repo.Releases = nil })
	s.send("release", deleted)
	s.judged(sha, "success")
	s.idle()

	// A release on the head of a merge group that fails, until the queue gives the group up.
	group, run := s.group(p, bad("1.1.1"))
	s.judged(group, "failure", "pow")
	s.idle()
	s.gh.Tag(s.repo, "v1.2.0", group)
	s.send(
		"release",
		s.gh.ReleaseEvent(
			s.repo,
			s.gh.AddRelease(s.repo, "v1.2.0", asset("1.2.0", "pow@GLIBC_2.2.5")),
			"published",
		),
	)
	s.judged(group, "failure", "the merge group", "The result without it: Compatible")
	s.idle()
	s.send("merge_group", s.gh.MergeGroupEvent(p, group, "destroyed"))
	s.judged(group, "success")
	s.idle()

	// A late event does not bring the group back.
	s.send("workflow_run", s.gh.RunEvent(run, "completed"))
	s.idle()
	s.judged(group, "success")
}
