package comment

import (
	"strings"
	"testing"
)

func TestOverruled(t *testing.T) {
	own := Check{
		Conclusion: "success",
		Title:      "Compatible",
		Summary:    "**Compatible.** 1 object judged.\n",
		Sticky:     "s",
		Clean:      true,
	}
	c := Overruled(
		own,
		Peer{
			Name:       "#12",
			Conclusion: "failure",
			Title:      "pow@GLIBC_2.29 for @everyone",
			DetailsURL: "https://compat.example/reports/x",
		},
	)
	if c.Conclusion != "failure" || !strings.HasPrefix(c.Title, "#12: pow") ||
		c.Sticky != own.Sticky ||
		!c.Clean {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{"also the head of #12", "https://compat.example/reports/x",
		"The result without it: Compatible", "1 object judged"} {
		if !strings.Contains(c.Summary, want) {
			t.Errorf("the summary doesn't say %q:\n%s", want, c.Summary)
		}
	}
	if strings.Contains(strings.ReplaceAll(c.Summary, "`@everyone`", ""), "@everyone") {
		t.Errorf("a name mentions:\n%s", c.Summary)
	}
	long := Overruled(
		Check{Summary: strings.Repeat("x", maxOutput)},
		Peer{Name: "release " + strings.Repeat("@v", 1000), Title: strings.Repeat("y", 1000)},
	)
	if len(long.Summary) > maxOutput || len([]rune(long.Title)) > MaxTitle {
		t.Errorf("%d bytes of summary, %d of title", len(long.Summary), len(long.Title))
	}
}
