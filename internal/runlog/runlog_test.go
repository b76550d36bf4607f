package runlog

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/internal/github"
)

func second(n int) time.Time { return time.Date(2025, 3, 1, 10, 0, n, 0, time.UTC) }

func TestStepAt(t *testing.T) {
	steps := []github.Step{
		{Number: 1, Started: second(0), Completed: second(2), Conclusion: "success"},
		{Number: 2, Started: second(2), Completed: second(2), Conclusion: "failure"},
		{Number: 3, Started: second(2), Completed: second(4), Conclusion: "success"},
		{Number: 4, Started: second(9), Conclusion: ""},
		{Number: 5, Conclusion: "skipped"},
	}
	for at, want := range map[time.Time]int{
		second(1): 1, second(2).Add(time.Millisecond * 300): 2, second(4).Add(900 * time.Millisecond): 3,
		second(7): 0, second(20): 4, {}: 0,
	} {
		got := 0
		if s := stepAt(steps, at); s != nil {
			got = s.Number
		}
		if got != want {
			t.Errorf("at %s step %d, want %d", at.Format(time.TimeOnly), got, want)
		}
	}
}

// Lines are counted from the header of their step, headers inside an action are ignored, and a
// log without timestamps gives the address of the job.
func TestLineURL(t *testing.T) {
	log := `2025-03-01T10:00:00.0Z Current runner version
2025-03-01T10:00:02.0Z ##[group]Run acme/build@v1
2025-03-01T10:00:02.0Z ##[endgroup]
2025-03-01T10:00:03.0Z ##[group]Run make
2025-03-01T10:00:03.0Z ##[endgroup]
2025-03-01T10:00:03.0Z a.so: undefined symbol: inner
2025-03-01T10:00:05.0Z ##[group]Run ./test
2025-03-01T10:00:05.0Z ##[endgroup]
2025-03-01T10:00:05.0Z b.so: undefined symbol: of_a_step_with_its_scripts_name
c.so: undefined symbol: without_time
`
	r, err := buildlog.Read(strings.NewReader(log))
	if err != nil || len(r.Diagnoses) != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	j := &github.Job{URL: "https://github.test/job/7", Steps: []github.Step{
		{Number: 1, Name: "Set up job", Started: second(0), Completed: second(1)},
		{Number: 2, Name: "wheels", Started: second(2), Completed: second(4)},
		{
			Number:     3,
			Name:       "Run ./test",
			Started:    second(4),
			Completed:  second(6),
			Conclusion: "failure",
		},
	}}
	for i, want := range []string{"#step:2:3", "#step:3:2", ""} {
		if got := lineURL(j, &r, &r.Diagnoses[i]); got != j.URL+want {
			t.Errorf("%s: %s, want %s", r.Diagnoses[i].Symbol, got, want)
		}
	}
	if got := lineURL(&github.Job{URL: j.URL}, &r, &r.Diagnoses[0]); got != j.URL {
		t.Errorf("without steps: %s", got)
	}
}

// A restarted download is parsed again, and the download ends when no more is needed.
func TestLogSink(t *testing.T) {
	s := logSink{log: slog.New(slog.DiscardHandler)}
	s.begin()
	if _, err := s.Write([]byte("a.so: undefined symbol: of_a_try_that_broke\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("ordinary\na.so: undefined symbol: first\n")); err != nil {
		t.Fatal(err)
	}
	s.left = 4
	if n, err := s.Write([]byte("b.so: undefined symbol: beyond\n")); n != 4 ||
		!errors.Is(err, errLogEnough) {
		t.Errorf("%d bytes taken, %v", n, err)
	}
	r, err := s.end()
	if err != nil || len(r.Diagnoses) != 1 || r.Diagnoses[0].Symbol != "first" ||
		r.Diagnoses[0].Line != 2 {
		t.Errorf("%+v %v", r, err)
	}

	s.begin()
	for i := 0; ; i++ { // more messages than are listed: the parser stops by itself
		_, err := s.Write(
			[]byte(strings.Repeat("x", i) + ".so: undefined symbol: f" + strings.Repeat("x", i) + "\n"),
		)
		if errors.Is(err, errLogEnough) {
			break
		}
		if err != nil || i > 2_000_000 {
			t.Fatalf("after %d lines: %v", i, err)
		}
	}
	if r, err := s.end(); err != nil || r.Limit == "" {
		t.Errorf("limit %q, %v", r.Limit, err)
	}
}
