package post

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/comment"
)

const url = "https://compat.test/reports/abc"

const pyproject = `[build-system]
requires = ["setuptools"]

[project]
name = "widget"
version = "1.0.0"
dependencies = [
    "nvidia-nvjitlink-cu12>=12.8",
]
`

// missing returns a finding whose fix edits line 8 of pyproject.
func missing(object string) analyzer.Finding {
	return analyzer.Finding{
		Rule:     "symbol-missing-in-package",
		Severity: analyzer.Error,
		New:      true,
		Target:   "manylinux_2_28_x86_64",
		Artifact: "widget-1.1.0-py3-none-manylinux_2_28_x86_64.whl",
		Object:   object,
		Symbol:   "__nvJitLinkGetErrorLogSize_12_9",
		Library:  "libnvJitLink.so.12",
		Package:  "nvidia-nvjitlink-cu12",
		Message:  object + " needs __nvJitLinkGetErrorLogSize_12_9.",
		Fixes: []fix.Fix{{
			Kind:        fix.KindPin,
			Title:       fix.Titled("Pin nvidia-nvjitlink-cu12>=12.9"),
			Requirement: "nvidia-nvjitlink-cu12>=12.9",
			Verified:    true,
		}},
	}
}

func reportOf(findings ...analyzer.Finding) *analyzer.Report {
	r := &analyzer.Report{
		Schema:   analyzer.Schema,
		Verdict:  analyzer.Incompatible,
		Findings: findings,
	}
	cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
	return r
}

// many returns a Check with n annotations.
func many(n int) comment.Check {
	c := comment.Check{
		Conclusion: "failure",
		Title:      "bad",
		Summary:    "bad",
		Actions: []comment.Action{{
			Label:       "Re-check",
			Description: "Check this commit again",
			Identifier:  comment.Recheck,
		}},
	}
	for i := range n {
		line := 1 + i%8
		c.Annotations = append(c.Annotations, comment.Annotation{
			Path:      "pyproject.toml",
			StartLine: line,
			EndLine:   line,
			Level:     comment.LevelFailure,
			Title:     fmt.Sprint("t", i),
			Message:   "m",
		})
	}
	return c
}
