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
		"missing wheels-cuda because it is gone":        "missingwheels-cuda|it is gone|",
		"Missing `linux wheels` because x":              "Missing`linux wheels`|x|",
		"missing because x":                             "missing|x|",
		"pow":                                           "", "pow because": "", "because x": "", "": "",
	} {
		got := ""
		if m := acceptance.FindStringSubmatch(line); m != nil {
			got = strings.Join([]string{m[1] + m[2] + m[3], m[4], m[5]}, "|")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
