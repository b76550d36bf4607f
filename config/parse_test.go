package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var testRules = []string{"symbol-version-too-new", "missing-symbol", "link-undefined"}

// Each testdata file has a compat.yml and either want (the configuration as JSON without zero
// values) or problems.
func TestStories(t *testing.T) {
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
			part := map[string]string{}
			for _, f := range txtar.Parse(data).Files {
				part[f.Name] = string(f.Data)
			}
			name := Path
			c, problems := ParseRepository([]byte(part["compat.yml"]), testRules)
			if project, ok := part[ProjectPath]; ok {
				name = ProjectPath
				c, problems, ok = ParseProject([]byte(project), testRules)
				if !ok {
					t.Fatal("the table is not found")
				}
			}
			if want, ok := part["problems"]; ok {
				var got strings.Builder
				for _, p := range problems {
					fmt.Fprintln(&got, p.In(name))
				}
				if got.String() != want {
					t.Errorf("problems:\n%swant:\n%s", got.String(), want)
				}
				if c != nil {
					t.Errorf("a configuration comes with problems")
				}
				return
			}
			if len(problems) > 0 {
				t.Fatalf("problems: %v", problems)
			}
			want := &Repository{}
			if err := json.Unmarshal([]byte(part["want"]), want); err != nil {
				t.Fatal(err)
			}
			a, _ := json.MarshalIndent(c, "", " ")
			b, _ := json.MarshalIndent(want, "", " ")
			if string(a) != string(b) {
				t.Errorf("got %s\nwant %s", a, b)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	for name, data := range map[string]string{
		"size":   "artifacts:\n" + strings.Repeat("- aaaaaaaaaaaaaaaa\n", 5000),
		"values": "artifacts:\n" + strings.Repeat("- a\n", 12000),
		"laughs": "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c " +
			"[*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]\n",
		"itself":   "artifacts: &a [*a]\n",
		"nesting":  strings.Repeat("[", 30000),
		"problems": strings.Repeat("x: 1\n", 5000),
	} {
		c, problems := ParseRepository([]byte(data), nil)
		if c != nil || len(problems) == 0 || len(problems) > maxShown {
			t.Errorf("%s: %d problems, want 1 to %d", name, len(problems), maxShown)
		}
	}
}

func FuzzParseRepository(f *testing.F) {
	for _, s := range []string{"", "fail_on: error\n", "python:\n  with: [torch]\n", "a: [",
		"accept:\n- {rule: x}\n", "\t", "%YAML 9", "---\n---\n", "? a\n: b", "<<: *x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := ParseRepository(data, testRules)
		if (c == nil) != (len(problems) > 0) {
			t.Fatalf("configuration %v with problems %v", c, problems)
		}
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range problems {
			if p.Line < 1 || p.Line > lines || p.Message == "" ||
				strings.Contains(p.Message, "\n") {
				t.Fatalf("problem %+v of a file of %d lines", p, lines)
			}
		}
	})
}

// A file that is read has a configuration or problems with lines of it, and one without the table
// has neither.
func FuzzParseProject(f *testing.F) {
	for _, s := range []string{
		"[tool.compat]\nfail_on = \"error\"\n", "tool.compat = {rules = {missing-symbol = \"off\"}}",
		"[[tool.compat]]", "[[tool.compat.accept]]\n[tool.compat.accept.x]\n", "tool = 1\n[tool.compat]",
		"[tool]\ncompat = [[1], {a.b = 2}]\n", "x = [", "[tool.compat.python]\nwith = [1979-05-27]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems, found := ParseProject(data, testRules)
		if found != (c != nil || len(problems) > 0) || c != nil && len(problems) > 0 {
			t.Errorf("found %v, a configuration %v, %d problems", found, c != nil, len(problems))
		}
		for _, p := range problems {
			if p.Line < 1 || p.Line > strings.Count(string(data), "\n")+1 || p.Message == "" {
				t.Errorf("a problem at line %d: %q", p.Line, p.Message)
			}
		}
	})
}
