package command

import (
	"strings"
	"testing"
)

func TestAcceptance(t *testing.T) {
	for line, want := range map[string]string{
		"pow because only for AlmaLinux 9":              "pow|only for AlmaLinux 9|",
		"`pow` BECAUSE of until until 2999-01-31":       "`pow`|of until|2999-01-31",
		"pow because we wait until 2999-01-31 and more": "pow|we wait until 2999-01-31 and more|",
		"pow": "", "pow because": "", "because x": "", "": "",
	} {
		got := strings.Join(acceptance.FindStringSubmatch(line), "|")
		if _, rest, found := strings.Cut(got, "|"); found {
			got = rest
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
