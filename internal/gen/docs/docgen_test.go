package docgen_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/gen/docs"
	"github.com/compat-app/compat/internal/gen/docs/golden"
)

var docs = filepath.Join("..", "..", "..", "docs")

// The page has at least twenty messages, and each rule that it names has a page.
func TestTroubleshootingPage(t *testing.T) {
	text, err := docgen.Troubleshooting()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text, "\n## "); n < 20 {
		t.Errorf("%d messages", n)
	}
	for _, m := range regexp.MustCompile(`\(rules/([a-z0-9-]+)\.md\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(docs, "rules", m[1]+".md")); err != nil {
			t.Error(err)
		}
	}
	golden.File(t, filepath.Join(docs, "troubleshooting.md"), text)
}

func TestRulePages(t *testing.T) {
	testdata := filepath.Join("..", "..", "..", "analyzer", "rules", "testdata")
	examples, err := docgen.Examples(rules.All(), testdata)
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, filepath.Join("..", "..", "..", "cmd", "compat", "examples.txtar"), examples)
	golden.File(t, filepath.Join(docs, "rules", "README.md"), docgen.Rules(rules.All()))
	pages := map[string]bool{"README.md": true}
	for _, r := range rules.All() {
		pages[r.ID+".md"] = true
		text, err := docgen.Rule(r, testdata)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "## Before and after") {
			t.Errorf("%s has no example", r.ID)
		}
		golden.File(t, filepath.Join(docs, "rules", r.ID+".md"), text)
	}
	files, err := os.ReadDir(filepath.Join(docs, "rules"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !pages[f.Name()] {
			t.Errorf("docs/rules/%s belongs to no rule; delete it", f.Name())
		}
	}
}

func TestPlatformPages(t *testing.T) {
	golden.File(t, filepath.Join(docs, "platforms.md"), docgen.Platforms())
}

func TestMessagePages(t *testing.T) {
	text, err := docgen.Messages(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, filepath.Join(docs, "messages.md"), text)
}

func TestSchemas(t *testing.T) {
	golden.File(
		t,
		filepath.Join(docs, "report.schema.json"),
		docgen.Schema(analyzer.Schema, analyzer.Report{}),
	)
	golden.File(
		t,
		filepath.Join(docs, "facts.schema.json"),
		docgen.Schema("compat facts", elfobj.Facts{}),
	)
	golden.File(
		t,
		filepath.Join(docs, "facts-pe.schema.json"),
		docgen.Schema("compat facts of a PE file", peobj.Object{}),
	)
}

// The schema of compat.yml is written by hand; this compares it with what the parser accepts.
func TestConfigSchemaMatchesTheParser(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(docs, "compat.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := json.Marshal(rules.IDs())
	if err != nil {
		t.Fatal(err)
	}
	data = regexp.MustCompile(`"rule": \{"enum": \[.*\]\}`).
		ReplaceAllLiteral(data, []byte(`"rule": {"enum": `+strings.ReplaceAll(string(ids), `","`,
			`", "`)+`}`))
	golden.File(t, filepath.Join(docs, "compat.schema.json"), string(data))
	var s struct {
		Properties map[string]struct {
			Properties map[string]any `json:"properties"`
			Examples   []any          `json:"examples"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for name, p := range s.Properties {
		if len(p.Examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		for _, x := range p.Examples {
			text, err := json.Marshal(map[string]any{name: x}) // JSON is YAML
			if err != nil {
				t.Fatal(err)
			}
			if _, problems := config.ParseRepository(text, rules.IDs()); len(problems) > 0 {
				t.Errorf("the parser refuses the example of %s: %v", name, problems)
			}
		}
	}
	_, problems := config.ParseRepository([]byte("nothing_of_the_kind: 1\n"), rules.IDs())
	if len(problems) != 1 {
		t.Fatalf("an unknown key gives %v", problems)
	}
	for _, key := range []string{"artifacts", "workflows", "platforms", "python", "gpu", "fail_on",
		"rules", "accept", "comment", "release", "abi", "environments", "documentation", "impact"} {
		if _, ok := s.Properties[key]; !ok {
			t.Errorf("the schema lacks %s", key)
		}
	}
	for _, name := range []string{"APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_PATH",
		"PRIVATE_KEY_COMMAND", "WEBHOOK_SECRET", "WEBHOOK_SECRET_PATH",
		"GITHUB_API_URL", "REDIS_URL", "COMPAT_DATA", "COMPAT_WORKERS", "COMPAT_PUBLIC_URL",
		"COMPAT_LEASE", "COMPAT_PARTITIONS", "COMPAT_POOL", "COMPAT_BLOBS", "COMPAT_WAIT", "LOG_LEVEL", "PIP_INDEX_URL",
		"COMPAT_INDEX_ALLOW", "PORT"} {
		page, err := os.ReadFile(filepath.Join(docs, "config.md"))
		if err != nil || !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/config.md does not explain %s (%v)", name, err)
		}
	}
}
