package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/staticlink"
)

// otherLinkers describes what gold, lld and mold do where GNU ld fails, and whether the program
// that they link starts.
func otherLinkers(p *analyzer.Pass, q linkProblem) string {
	var refuse, link []string
	starts := true
	for _, by := range []staticlink.Linker{staticlink.Gold, staticlink.LLD, staticlink.Mold} {
		name := string(by)
		if by == staticlink.Mold {
			name = "mold (before mold 2.38)"
		}
		if p.Linked(by, q.view).Problems.Has(q.Import.Name, q.Import.Version) {
			refuse = append(refuse, name)
			continue
		}
		link = append(link, name)
		starts = starts && p.LinkedStarts(by, q.view, q.Import)
	}
	text := ""
	if len(refuse) > 0 {
		text = ". " + analyzer.And(refuse) + " " + analyzer.Plural(len(refuse), "reports", "report") +
			" the same error"
	}
	if len(link) == 0 {
		return text
	}
	text += ". " + analyzer.And(link) + " " + analyzer.Plural(len(link), "does", "do") +
		" not report it"
	if starts {
		return text + ", and the program starts"
	}
	return text + ", and the program then fails at startup or at the first call"
}
