package docgen

import (
	_ "embed" // troubleshooting.txt
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/buildlog"
)

// trouble is a message that people search for, with what it means.
type trouble struct {
	title   string // the part that is the same for everyone
	message string // as it is printed
	meaning string
	rule    string // of the finding before the message can occur; "" = there is none
}

//go:embed troubleshooting.txt
var troublesText string

// troubles reads troubleshooting.txt: an entry in each block of lines, KEY: VALUE.
func troubles() (all []trouble, err error) {
	text := strings.ReplaceAll(troublesText, "\n ", " ")
	for _, block := range strings.Split(text, "\n\n")[1:] {
		var t trouble
		fields := map[string]*string{"title": &t.title, "message": &t.message, "meaning": &t.meaning,
			"rule": &t.rule}
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			field, known := fields[key]
			if !known {
				return nil, fmt.Errorf("troubleshooting.txt: a line is not KEY: VALUE: %q", line)
			}
			*field = value
		}
		all = append(all, t)
	}
	return all, nil
}

// Troubleshooting returns the page with the answers to messages that people search for. Fixes are
// those of `compat explain`, so a message without a diagnosis is an error.
func Troubleshooting() (string, error) {
	var b strings.Builder
	b.WriteString(`# Troubleshooting

Search this page for the message that you see. Each answer has what the message means, what helps, and how to find the
problem before users do. For your own message, with your own names, paste it:

    compat explain build.log                   # or paste it: compat explain, then Ctrl-D
    compat explain build.log dist/*.whl        # also checks whether these files have the problem

`)
	all, err := troubles()
	if err != nil {
		return "", err
	}
	for _, t := range all {
		fmt.Fprintf(&b, "- [%s](#%s)\n", code(t.title), anchor(t.title))
	}
	for _, t := range all {
		result, err := buildlog.Read(strings.NewReader(t.message + "\n"))
		if err != nil {
			return "", err
		}
		if len(result.Diagnoses) != 1 || len(result.Diagnoses[0].Fixes) == 0 {
			return "", fmt.Errorf("%d diagnoses of %q", len(result.Diagnoses), t.message)
		}
		fmt.Fprintf(&b, "\n<a id=%q></a>\n\n## %s\n\n```text\n%s\n```\n\n%s\n\n", anchor(t.title),
			code(t.title), strings.Join(folded(t.message), "\n"), strings.Join(folded(t.meaning), "\n"))
		for _, f := range result.Diagnoses[0].Fixes {
			b.WriteString("- " + strings.Join(folded(f.Title.String()), "\n  ") + "\n")
			if f.Command != "" && !f.ShowsCommand() {
				b.WriteString("\n  ```sh\n  " + strings.ReplaceAll(string(f.Command), "\n", "\n  ") + "\n  ```\n\n")
			}
		}
		if t.rule != "" {
			fmt.Fprintf(&b, "\n`compat check` finds it in the file: [%s](rules/%s.md).\n", t.rule, t.rule)
		}
	}
	return strings.ReplaceAll(b.String(), "\n\n\n", "\n\n"), nil
}

// code returns a text that may contain one backtick as code.
func code(s string) string {
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// anchor returns the letters and digits of a title, with dashes between words.
func anchor(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// folded returns a text in lines of at most 110 characters.
func folded(s string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len(line)+1+len(word) > 110 {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
