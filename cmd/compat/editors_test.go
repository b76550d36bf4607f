package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

// The task of docs/editors.md finds the line to change in what compat prints, and each location of
// the SARIF file is a file in the folder that is open in the editor.
func TestEditorsFindTheLines(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "editors.md"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tasks []struct {
			Command string
			Matcher struct {
				Pattern struct {
					Regexp                        string
					Severity, File, Line, Message int
				}
			} `json:"problemMatcher"`
		}
	}
	if err := json.Unmarshal(jsonBlock.FindSubmatch(page)[1], &file); err != nil || len(file.Tasks) != 1 {
		t.Fatalf("%d tasks, error %v", len(file.Tasks), err)
	}
	task := file.Tasks[0]
	consoleFolder(t)
	const project = "[project]\nname = \"cuda-parallel\"\nversion = \"1.1.0\"\ndependencies = [\n" +
		"  \"nvidia-nvjitlink-cu12>=12.8,<12.9\",\n]\n"
	if err := os.WriteFile("pyproject.toml", []byte(project), 0o644); err != nil {
		t.Fatal(err)
	}

	at, pattern := task.Matcher.Pattern, regexp.MustCompile(task.Matcher.Pattern.Regexp)
	var found []string
	for line := range strings.Lines(printed(t, strings.TrimPrefix(task.Command, "compat "))) {
		if m := pattern.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			found = append(found, m[at.Severity]+" "+m[at.File]+":"+m[at.Line]+": "+m[at.Message])
		}
	}
	if len(found) != 1 || !strings.HasPrefix(found[0], "error pyproject.toml:5: fails with nvidia-nvj") {
		t.Errorf("problems %q", found)
	}

	var log struct {
		Runs []struct {
			Results []struct {
				Locations, RelatedLocations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(printed(t, "check --format sarif dist/*.whl")), &log); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, result := range log.Runs[0].Results {
		for _, l := range append(result.Locations, result.RelatedLocations...) {
			uri := l.PhysicalLocation.ArtifactLocation.URI
			seen[uri] = true
			if _, err := os.Stat(uri); err != nil {
				t.Error(err)
			}
		}
	}
	if !seen["pyproject.toml"] || len(seen) < 3 {
		t.Errorf("locations %v", seen)
	}
}
