package job

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/queue"
)

const sha = "0123456789abcdef0123456789abcdef01234567"

// bodies returns a body of each kind with all fields set.
func bodies() []Body {
	return []Body{
		&Pull{5, 3, &Push{sha, "fix", 6, "someone/widget", "main", time.Unix(1, 0).UTC()}},
		&MergeGroup{5, sha, "refs/heads/gh-readonly-queue/main/pr-3-x", "main", sha, true},
		&Release{5, 31},
		&Deployment{5, 77, "py/pi prod", 9},
		&Commit{5, sha, true, []string{"pull/5/3"}, "someone", "fix"},
		&Command{5, 3, 12, 0, "ann", []CommandLine{{"accept", "a because b"}}},
		&CheckAction{5, "GUID", "recheck", KindPull, "pull/5/3", sha, "ann", "compat:x"},
		&DefaultBranch{5, true, sha, []string{"uv.lock"}, true},
		&BaseAnalysis{5, 77},
		&RepositoryRemoved{5},
		&RepositoryRenamed{5},
		&InstallationEnded{5},
	}
}

func TestEveryKindSurvivesTheQueue(t *testing.T) {
	tested := map[Kind]bool{}
	all := append(bodies(), &Command{5, 3, 12, 7, "ann", nil},
		&Deployment{5, 77, strings.Repeat("long ", 60), 0})
	for _, b := range all {
		tested[b.Kind()] = true
		o := Origin{Installation: 9, SHA: sha, Trigger: "a.b", Delivery: "GUID", ForceID: "f"}
		j, err := New(b, o)
		if err != nil {
			t.Fatalf("%s: %v", b.Kind(), err)
		}
		if j.Kind != string(b.Kind()) || !strings.HasPrefix(j.Key, j.Kind+"/5") || j.Repository != 5 {
			t.Errorf("%s: the job %+v", b.Kind(), j)
		}
		got, err := Decode(j)
		if err != nil || !reflect.DeepEqual(got, b) {
			t.Errorf("%s: decoded %+v, %v; want %+v", b.Kind(), got, err, b)
		}
	}
	for _, k := range Kinds() {
		if !tested[k] {
			t.Errorf("no body of kind %s is tested", k)
		}
	}
}

// A queue may contain jobs that an earlier release stored.
func TestJobsOfEarlierReleases(t *testing.T) {
	for _, c := range []struct {
		kind, key, payload string
		want               Body
	}{
		{"pull", "pull/5/3", "", &Pull{Repository: 5, Number: 3}},
		{"pull", "pull/5/3", "{}", &Pull{Repository: 5, Number: 3}},
		{"release", "release/5/31", "{}", &Release{Repository: 5, ID: 31}},
		{"merge_group", "merge_group/5/" + sha, "{}", &MergeGroup{Repository: 5, SHA: sha}},
		{"base", "base/5", `{"settings":true}`, &DefaultBranch{Repository: 5, Settings: true}},
		{"ahead", "ahead/5", `{"run":7}`, &BaseAnalysis{Repository: 5, Run: 7}},
		{"removed", "removed/5", "{}", &RepositoryRemoved{Repository: 5}},
		{"repository", "repository/5", "{}", &RepositoryRenamed{Repository: 5}},
		{
			"button", "button/5/GUID",
			`{"action":"recheck","kind":"pull","key":"pull/5/3","sha":"` + sha + `","author":"ann"}`,
			&CheckAction{5, "GUID", "recheck", KindPull, "pull/5/3", sha, "ann", ""},
		},
	} {
		j := queue.Job{Kind: c.kind, Key: c.key, Repository: 5, Payload: []byte(c.payload)}
		got, err := Decode(j)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %+v, %v; want %+v", c.key, c.payload, got, err, c.want)
		}
		if KindOf(j) != c.want.Kind() {
			t.Errorf("%s: kind %s, want %s", c.key, KindOf(j), c.want.Kind())
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for _, c := range []struct{ kind, key, payload string }{
		{"pull", "pull/5", ""},
		{"pull", "pull/5/x", ""},
		{"pull", "pull/5/03", ""},
		{"pull", "pull/6/3", ""}, // another repository
		{"pull", "pull/5/3", `{"number":4}`},
		{"pull", "pull/5/3", `{"number":3} {}`},
		{"commit", "commit/5/abc", ""},
		{"default_branch", "default_branch/5/6", ""},
	} {
		j := queue.Job{Kind: c.kind, Key: c.key, Repository: 5, Payload: []byte(c.payload)}
		if b, err := Decode(j); err == nil {
			t.Errorf("%s %s is decoded as %+v", c.key, c.payload, b)
		}
	}
}

// What a newer release has stored is not damaged.
func TestDecodeNewer(t *testing.T) {
	key := &Pull{Repository: 5, Number: 3}
	for _, c := range []struct {
		kind, key, payload string
		schema             int
		want               Body
		newer              bool
	}{
		{"pull", "pull/5/3", `{"number":3,"more":{"a":[1]}}`, 1, key, false},
		{"pull", "pull/5/3", `{"number":3}`, 0, key, false},
		{"pull", "pull/5/3", `{"number":"three"}`, 1, key, true},
		{"pull", "pull/5/3", `[]`, 1, key, true},
		{"pull", "pull/5/3", `{"number":3,"pushed":{"sha":"x"}}`, 2, key, true},
		{"other", "other/5", "", 1, nil, true},
		{"other", "pull/5/3", `{"number":3}`, 1, key, true},
	} {
		j := queue.Job{
			Kind: c.kind, Key: c.key, Repository: 5, Payload: []byte(c.payload), Schema: c.schema,
		}
		got, err := Decode(j)
		if errors.Is(err, ErrNewer) != c.newer || err != nil != c.newer ||
			!reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %+v, %v; want %+v", c.key, c.payload, got, err, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		b Body
		o Origin
	}{
		"no installation": {&Pull{Repository: 5, Number: 3}, Origin{}},
		"no repository":   {&Pull{Number: 3}, Origin{Installation: 9}},
		"no number":       {&Pull{Repository: 5}, Origin{Installation: 9}},
		"no head":         {&MergeGroup{Repository: 5}, Origin{Installation: 9}},
		"not a SHA":       {&Pull{Repository: 5, Number: 3}, Origin{Installation: 9, SHA: "main"}},
	} {
		if j, err := New(c.b, c.o); err == nil {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

func TestExternal(t *testing.T) {
	for _, digest := range []string{"", "abc"} {
		for _, b := range []Body{
			&Pull{Repository: 5, Number: 3},
			&MergeGroup{Repository: 5, SHA: sha},
			&Release{Repository: 5, ID: 31},
		} {
			external := External(b.Key(), sha, digest)
			got, ok := ParseExternal(external, 5)
			if !ok || !reflect.DeepEqual(got, b) {
				t.Errorf("%s: %+v, %v", external, got, ok)
			}
			if _, ok := ParseExternal(external, 6); ok {
				t.Errorf("%s is taken for one of another repository", external)
			}
		}
	}
	for _, external := range []string{"", "@", "pull/5/3", "pull/5/x@y", "commit/5/" + sha + "@y"} {
		if b, ok := ParseExternal(external, 5); ok {
			t.Errorf("%q is taken for %+v", external, b)
		}
	}
}

// FuzzDecode checks that New restores the key and payload of what Decode accepts.
func FuzzDecode(f *testing.F) {
	for _, b := range bodies() {
		j, err := New(b, Origin{Installation: 9})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(j.Kind, j.Key, []byte(j.Payload))
	}
	f.Fuzz(func(t *testing.T, kind, key string, payload []byte) {
		j := queue.Job{Kind: kind, Key: key, Repository: 5, Payload: payload}
		b, err := Decode(j)
		if err != nil || len(payload) == 0 || kind != string(b.Kind()) {
			return
		}
		again, err := New(b, Origin{Installation: 9})
		if err != nil || again.Key != key {
			t.Fatalf("%s %s: %+v, %v", key, payload, again, err)
		}
		if second, err := Decode(again); err != nil || !reflect.DeepEqual(second, b) {
			t.Fatalf("%s %s: %+v, %v; want %+v", key, payload, second, err, b)
		}
	})
}
