package webhook

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/internal/job"
)

var update = flag.Bool("update", false, "rewrite the want parts of the stories")

// A testdata file has parts EVENT.json (a shortened payload), each followed by a part want: a
// line per job, or the reason why the delivery is ignored, dropped or refused.
func TestDecideStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(data)
			for i := 0; i+1 < len(a.Files); i += 2 {
				event := strings.TrimSuffix(a.Files[i].Name, ".json")
				got := describe(decide(event, "GUID", a.Files[i].Data, 7))
				if *update {
					a.Files[i+1].Data = []byte(got)
				} else if want := string(a.Files[i+1].Data); got != want {
					t.Errorf("%s %s\ngot  %swant %s", event, a.Files[i].Data, got, want)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func describe(d decision, err error) string {
	var sb strings.Builder
	for _, j := range d.jobs {
		fmt.Fprintf(
			&sb,
			"%s %s installation=%d repository=%d sha=%.8s trigger=%s force=%s delivery=%s %s\n",
			j.Kind,
			j.Key,
			j.Installation,
			j.Repository,
			j.SHA,
			j.Trigger,
			j.ForceID,
			j.Delivery,
			j.Payload,
		)
	}
	if d.ignored != "" {
		fmt.Fprintf(&sb, "ignored: %s\n", d.ignored)
	}
	if err != nil {
		fmt.Fprintf(&sb, "refused: %v\n", err)
	}
	return sb.String()
}

// payloads calls visit for each payload in testdata.
func payloads(f *testing.F, visit func(event string, body []byte)) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range txtar.Parse(data).Files {
			if event, ok := strings.CutSuffix(part.Name, ".json"); ok {
				visit(event, part.Data)
			}
		}
	}
}

// The header that names the event is not signed, so each payload comes with each event. Jobs of an
// installation are only dropped for payloads that are about nothing else.
func FuzzDecide(f *testing.F) {
	payloads(f, func(event string, body []byte) {
		f.Add(event, body)
		for other := range events.Get() {
			f.Add(other, body)
		}
	})
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		d, err := decide(event, "GUID", body, 7)
		var members map[string]any
		if len(d.jobs) > 0 && strings.HasPrefix(event, "installation") &&
			json.Unmarshal(body, &members) == nil {
			for _, other := range []string{"comment", "issue", "release", "pull_request", "check_run",
				"check_suite", "workflow_run", "merge_group", "deployment"} {
				if members[other] != nil {
					t.Fatalf("a payload with %s is taken for %s", other, event)
				}
			}
		}
		outcomes := 0
		for _, is := range []bool{err != nil, len(d.jobs) > 0, d.ignored != ""} {
			if is {
				outcomes++
			}
		}
		if outcomes != 1 {
			t.Fatalf("%d outcomes, want exactly one: %s", outcomes, describe(d, err))
		}
		for _, j := range d.jobs {
			if j.Installation == 0 || j.Repository == 0 || strings.ContainsAny(j.Key, " \n@") ||
				len(j.Key) > 1000 ||
				!strings.HasPrefix(j.Key, j.Kind+"/") {
				t.Fatalf("job %+v", j)
			}
		}
	})
}

// Every kind of job is created by an event in testdata.
func TestEveryKindHasAnEvent(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	made := map[job.Kind]bool{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range a.Files {
			event, ok := strings.CutSuffix(part.Name, ".json")
			if !ok {
				continue
			}
			d, _ := decide(event, "GUID", part.Data, 7) // TestDecideStories checks the errors
			for _, j := range d.jobs {
				if _, err := job.Decode(j); err != nil {
					t.Errorf("%s: the worker can't decode %+v: %v", event, j, err)
				}
				made[job.KindOf(j)] = true
			}
		}
	}
	for _, k := range job.Kinds() {
		if !made[k] {
			t.Errorf("no event makes a job of kind %s", k)
		}
	}
}
