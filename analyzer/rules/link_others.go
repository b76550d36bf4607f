package rules

import (
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/staticlink"
)

// otherLinkers says what gold, lld and mold make of a problem of GNU ld, and how the program fares
// that they link.
func otherLinkers(p *analyzer.Pass, q linkProblem) string {
	var refuse, link []string
	starts := true
	for _, by := range []staticlink.Linker{staticlink.Gold, staticlink.LLD, staticlink.Mold} {
		name := string(by)
		if by == staticlink.Mold {
			name = "mold before 2.38"
		}
		if p.Linked(by, q.view).Problem(q.Import) != nil {
			refuse = append(refuse, name)
			continue
		}
		link = append(link, name)
		starts = starts && p.LinkedStarts(by, q.view, q.Import)
	}
	text := ""
	if len(refuse) > 0 {
		text = "; " + strings.Join(refuse, " and ") + " refuse it too"
	}
	if len(link) == 0 {
		return text
	}
	text += "; " + listed(link) + " " + verb(link)
	if q.Kind != staticlink.Hidden && len(refuse) == 0 {
		text += " without a look"
	}
	if starts {
		return text + ", and the program starts"
	}
	return text + ", and the program fails when it starts"
}

func listed(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func verb(of []string) string {
	if len(of) == 1 {
		return "links it"
	}
	return "link it"
}
