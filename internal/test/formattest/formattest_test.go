package formattest

import (
	"os"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

const (
	sarif = `{"$schema":"https://a.test/s","version":"2.1.0","runs":[{"tool":{"driver":{"name":"x",` +
		`"informationUri":"https://a.test","rules":[{"id":"r","name":"R","shortDescription":` +
		`{"text":"t"},"fullDescription":{"text":"t"}}]}},"results":[{"ruleId":"r","ruleIndex":0,` +
		`"level":"error","message":{"text":"m"},"partialFingerprints":{"a/v1":"f"},"locations":[` +
		`{"physicalLocation":{"artifactLocation":{"uri":"a%20b.whl"},"region":{"startLine":1}}}]}]}]}`
	gitlab = `[{"description":"d","check_name":"r","severity":"critical","fingerprint":"` +
		`0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",` +
		`"location":{"path":"a.whl","lines":{"begin":1}}}]`
	junit = `<?xml version="1.0"?>
<testsuites name="x" tests="2" failures="1" errors="0"><testsuite name="x" tests="2" failures="1" errors="0">
<testcase name="a" classname="a.whl"><failure message="m" type="r">text</failure></testcase>
<testcase name="b" classname="b.whl"><system-out>note</system-out></testcase>
</testsuite></testsuites>
`
)

// TestErrors checks that each document is accepted, and that it is refused after the first string
// of a pair was replaced by the second.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		check    func([]byte) error
		document string
		replaced []string
	}{
		{SARIF, sarif, []string{
			`"2.1.0"`, `"2.0.0"`, `"error"`, `"fatal"`, `a%20b.whl`, `a b|.whl`, `"startLine":1`,
			`"startLine":0`, `"ruleIndex":0`, `"ruleIndex":1`, `"message":{"text":"m"},`, ``,
			`"name":"x"`, `"name":""`, `{"a/v1":"f"}`, `{}`, `https://a.test/s`, `s t`,
			`"results"`, `"result"`,
		}},
		{GitLab, gitlab, []string{
			`"critical"`, `"error"`, `"begin":1`, `"begin":0`, `a.whl`, `./a.whl`, `0123`, `012`,
			`"description":"d",`, ``, `check_name`, `check`,
		}},
		{JUnit, junit, []string{
			`name="a" `, ``, `tests="2"`, `tests="3"`, "failures=\"1\" errors=\"0\">\n",
			"failures=\"0\" errors=\"0\">\n", " errors=\"0\">\n", ">\n",
			`<failure message="m"`, `<failure`, `testsuites`, `suites`, `system-out`, `output`,
			`</testsuites>`, `</testsuites><x/>`, `note`, "\x01",
		}},
	} {
		if err := c.check([]byte(c.document)); err != nil {
			t.Errorf("%s\nis refused: %v", c.document, err)
		}
		for i := 0; i < len(c.replaced); i += 2 {
			from, to := c.replaced[i], c.replaced[i+1]
			changed := strings.ReplaceAll(c.document, from, to)
			if changed == c.document {
				t.Fatalf("%q is not in the document", from)
			}
			if err := c.check([]byte(changed)); err == nil {
				t.Errorf("with %q instead of %q it is accepted", to, from)
			}
		}
	}
}

// The published schemas refuse what they do not describe, so they were read.
func TestPublishedSchemas(t *testing.T) {
	if os.Getenv("COMPAT_SCHEMAS") == "" {
		needs.Missing(t, "COMPAT_SCHEMAS names no folder of make schemas")
	}
	if publishedSARIF([]byte(`{"version":"2.1.0"}`)) == nil {
		t.Error("a SARIF log without runs is accepted")
	}
	if publishedJUnit([]byte(`<testsuites><x/></testsuites>`)) == nil {
		t.Error("an unknown element of JUnit is accepted")
	}
}
